import { existsSync } from "node:fs";
import { homedir, platform } from "node:os";
import { join } from "node:path";
import { type AgentMemory, MAIN_TYPE } from "../../agents/index.ts";
import {
  contextText,
  createSkillCatalog,
  findSkills,
  type LoadedSkill,
  openMemory,
  pluginDirectory,
  type Snapshot,
  skillDirectory,
} from "../../definitions/index.ts";
import { UserError } from "../../lib/index.ts";
import { type AgentDefinition, canonicalToolName, type RunResult, type Settings } from "../../protocol/index.ts";
import type { AvailableAgent } from "../../runs/index.ts";
import { type Approval, createTrustStore, managedDirectory } from "../../settings/index.ts";
import { docsDirectory, type Environment, existingPaths } from "../directories.ts";
import type { SessionContext } from "../session/session-context.ts";
import type { SessionOptions } from "../session/session-options.ts";
import { runCallback } from "../session/with-callback.ts";
import { type AgentCatalog, type CatalogAgent, loadAgentCatalog } from "./agent-catalog.ts";
import {
  agentNotices,
  contextNotices,
  definitionNotices,
  formatDiagnostic,
  missingSessionAgent,
  projectNotices,
  skillNotices,
  unknownAgent,
} from "./agent-diagnostics.ts";
import { builtInAgentsOnly, type LoadedAgents, reloadable } from "./available-agents.ts";
import { type AgentCallback, functionsFor, type SplitAgents, splitAgents, writePrompt } from "./define-agent.ts";
import { isGuide } from "./guide.ts";

/** The main agent of a session, with everything that files, options and the embedding program define for it. */
export interface LoadedMainAgent {
  /** Definition of the agent; absent for the `main` agent, which needs none. */
  readonly definition?: AgentDefinition | undefined;
  readonly prompt?: string | undefined;
  /** Skills that the agent's definition names. They are part of its prompt. */
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
  /** Directories outside the workspace that the agent may read. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
  /** The embedding program's function that is called after each run. */
  readonly callback?: AgentCallback | undefined;
  /** Agents that the main agent can start. */
  readonly agents: LoadedAgents;
}

type LoadOptions = Pick<SessionOptions, "agent" | "agents" | "trusted" | "entryPoint" | "catalogSettings">;

/** Loads the main agent and the agents that it can start. */
export async function loadAgents(
  options: LoadOptions,
  context: SessionContext,
  { before }: Pick<Previous, "before">,
): Promise<LoadedMainAgent> {
  const split = splitAgents(options.agents ?? {});
  const data = { ...options, agents: options.agents && split.data };
  const functionsOf = bindFunctions(split, context);
  const { approvals, ...main } = await loadDefinitions(data, context, { before });
  const reload = async (previous: Snapshot | undefined): Promise<LoadedAgents> =>
    (await loadDefinitions(data, context, { before, previous, approvals })).agents;
  const { prompt, callback } = functionsOf(main.definition);
  return {
    ...main,
    prompt: prompt ? prompt(context.cwd) : main.prompt,
    callback,
    agents: reloadable(withFunctions(main.agents, functionsOf), async ({ snapshot }) =>
      withFunctions(await reload(snapshot), functionsOf),
    ),
  };
}

type FunctionsOf = (definition: AgentDefinition | undefined) => {
  readonly prompt: ((cwd: string) => string) | undefined;
  readonly callback: AgentCallback | undefined;
};

function bindFunctions(split: SplitAgents, { home }: SessionContext): FunctionsOf {
  const environment = { platform: platform(), docsDirectory: docsDirectory(), stateDirectory: home };
  return (definition) => {
    const { prompt, callback } = functionsFor(definition, split);
    const name = definition?.name ?? "";
    return { prompt: prompt && ((cwd) => writePrompt(name, prompt, { ...environment, cwd })), callback };
  };
}

function withFunctions(agents: LoadedAgents, functionsOf: FunctionsOf): LoadedAgents {
  return {
    ...agents,
    find: (name) => {
      const found = agents.find(name);
      if (found === undefined) return undefined;
      const agentType = found.definition.name;
      const { prompt = found.prompt, callback } = functionsOf(found.definition);
      const followUp = callback && ((result: RunResult) => runCallback(callback, result, { agentType }));
      return { ...found, prompt, followUp };
    },
  };
}

interface Previous {
  /** Type of the main agent of the session that is resumed. */
  readonly before: string | undefined;
  /** Files as they were last read. */
  readonly previous?: Snapshot | undefined;
  /** Hooks and MCP servers of the workspace's agent files when the session began. */
  readonly approvals?: readonly Approval[] | undefined;
}

interface LoadedDefinitions extends LoadedMainAgent {
  /** Hooks and MCP servers of the workspace's agent files. */
  readonly approvals?: readonly Approval[] | undefined;
}

async function loadDefinitions(
  options: LoadOptions,
  { cwd, home, environment, settings }: SessionContext,
  { before, previous, approvals }: Previous,
): Promise<LoadedDefinitions> {
  const { agents: given, trusted = false, catalogSettings } = options;
  const builtIn = {
    disabled: disabledAgents(settings),
    entryPoint: entryPointOf(options, { environment, settings }),
    profile: settings.profile,
  };
  const name = options.agent ?? (before === MAIN_TYPE ? undefined : before);
  const mayHaveInstructions = trusted || (options.trusted !== undefined && hasUserFiles(home, environment));
  if (name === undefined && given === undefined && !mayHaveInstructions && !definesAgents(settings)) {
    return { skills: [], readableRoots: [], notices: [], agents: builtInAgentsOnly(home, builtIn) };
  }
  const loaded = await loadAgentCatalog({
    cwd,
    home,
    environment,
    trust: catalogSettings?.trust ?? (trusted && !createTrustStore({ stateHome: home }).isTrusted(cwd)),
    approvals,
    agents: given,
    settings: catalogSettings,
    previous,
    builtIn,
  });
  const aboutGiven = loaded.diagnostics.filter(({ file }) => file === "--agents");
  const error = aboutGiven.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new UserError(error.message, { code: "agents", exitCode: 2, cure: error.fix });
  const givenNotices = aboutGiven.map(formatDiagnostic);
  const projectContext = contextText(loaded.snapshot.contextFiles);
  const readableRoots = skillRoots(loaded.snapshot.skills, home);
  const agents: LoadedAgents = {
    definitions: loaded.catalog.agents.map(({ definition }) => definition),
    nearest: loaded.catalog.nearest,
    snapshot: loaded.snapshot,
    skillCatalog: createSkillCatalog(loaded.snapshot.skills),
    warnings: projectNotices(loaded),
    find: (wanted) => {
      const found = loaded.catalog.find(wanted)?.agent;
      return found && availableAgent(found, { loaded, home, projectContext, readableRoots });
    },
  };
  const found = name === undefined ? undefined : agents.find(name);
  if (found !== undefined) {
    const notices = new Set([...givenNotices, ...found.notices, ...agentNotices(loaded), ...projectNotices(loaded)]);
    return { ...found, prompt: found.prompt(cwd), notices: [...notices], agents, approvals: loaded.approvals };
  }
  // If the main agent's file is deleted while the session is open, the agent stays as it is.
  if (name !== undefined && name !== MAIN_TYPE && previous === undefined) {
    throw options.agent === undefined ? missingSessionAgent(name, loaded) : unknownAgent(name, loaded);
  }
  const notices = [
    ...givenNotices,
    ...contextNotices(loaded),
    ...agentNotices(loaded),
    ...projectNotices(loaded),
    ...skillNotices(loaded),
  ];
  return { projectContext, skills: [], readableRoots, notices, agents, approvals: loaded.approvals };
}

/** Returns the agents that settings disable, as in `"agents": { "Explore": false }`. */
function disabledAgents({ agents = {} }: Settings): readonly string[] {
  return Object.keys(agents).filter((name) => agents[name] === false);
}

function definesAgents({ agents = {} }: Settings): boolean {
  return Object.values(agents).some((value) => typeof value !== "boolean");
}

function entryPointOf(
  { entryPoint = "sdk" }: LoadOptions,
  { environment, settings }: Pick<SessionContext, "environment" | "settings">,
): string {
  if (settings.subagents?.guide === false) return "sdk";
  return environment["CLAUDE_CODE_ENTRYPOINT"] || entryPoint;
}

/** Returns true if the user may have instructions, skills or plugins of their own, which need no trust. */
function hasUserFiles(home: string, environment: Environment): boolean {
  const userHome = environment["HOME"] || homedir();
  return [
    join(home, "AGENTS.md"),
    join(home, "plugins.json"),
    join(userHome, ".agents/AGENTS.md"),
    join(userHome, ".agents/agents"),
    join(userHome, ".agents/skills"),
    join(userHome, ".claude/CLAUDE.md"),
    join(userHome, ".claude/agents"),
    join(userHome, ".claude/skills"),
    join(managedDirectory, "agents"),
    join(managedDirectory, "skills"),
  ].some((file) => existsSync(file));
}

interface SharedParts {
  readonly loaded: AgentCatalog;
  /** State directory. */
  readonly home: string;
  readonly projectContext: string | undefined;
  readonly readableRoots: readonly string[];
}

function availableAgent({ definition, body }: CatalogAgent, shared: SharedParts): AvailableAgent {
  const { loaded, home, projectContext, readableRoots } = shared;
  const { found: skills, diagnostics } = findSkills(loaded.snapshot.skills, definition.skills ?? [], {
    file: definition.file ?? definition.name,
  });
  const { memory, notice } = agentMemory(definition, { home, trustedRoot: loaded.trustedRoot });
  return {
    projectContext,
    definition,
    prompt: body,
    skills: skills.map((skill) => ({ name: skill.definition.name, text: skillText(skill) })),
    memory,
    readableRoots: existingPaths([
      ...(isGuide(definition) ? [docsDirectory()] : []),
      ...(memory ? [memory.directory] : []),
      ...readableRoots,
    ]),
    notices: [
      ...(definition.omitProjectContext ? [] : contextNotices(loaded)),
      // Problems in agents passed with --agents are reported once, when the session begins.
      ...(definition.source === "flag" ? [] : definitionNotices(loaded, definition)),
      ...(usesSkills(definition) ? skillNotices(loaded) : []),
      ...diagnostics.map(formatDiagnostic),
      ...(notice === undefined ? [] : [notice]),
    ],
  };
}

/** Opens the memory of an agent, if it has one. If the memory can't be used, `notice` explains why. */
function agentMemory(
  { memory: scope, name: agent }: AgentDefinition,
  { home, trustedRoot }: { readonly home: string; readonly trustedRoot: string | undefined },
): { readonly memory?: AgentMemory; readonly notice?: string } {
  if (scope === undefined) return {};
  if (scope !== "user" && trustedRoot === undefined) {
    const notice = `Agent "${agent}" has its memory in the project (memory: ${scope}), which is not trusted, so it works without its memory. Trust the project with "retinue trust add", or for one run with the option \`trusted\`.`;
    return { notice };
  }
  // The memory of a project stays within the trusted directory.
  const opened = openMemory({ scope, agent, stateHome: home, projectRoot: trustedRoot ?? home });
  if (opened.ok) return { memory: opened };
  return {
    notice: `Agent "${agent}" works without its memory: ${opened.problem}. Fix this, or remove "memory" from the definition.`,
  };
}

function skillText(skill: LoadedSkill): string {
  return `Paths in this skill are relative to ${skillDirectory(skill.definition)}.\n\n${skill.body().trim()}`;
}

/** Returns the directories that skills may refer to: their own directory, or the directory of their plugin. */
function skillRoots(skills: readonly LoadedSkill[], home: string): readonly string[] {
  const directories = skills.map(({ definition }) =>
    definition.plugin === undefined ? skillDirectory(definition) : pluginDirectory(home, definition.plugin),
  );
  return [...new Set(directories)];
}

function usesSkills({ tools, skills }: AgentDefinition): boolean {
  if (tools === undefined || skills !== undefined) return true;
  return tools.some((tool) => tool === "*" || canonicalToolName(tool) === "Skill");
}
