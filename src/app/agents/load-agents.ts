import { type AgentMemory, MAIN_TYPE } from "../../agents/index.ts";
import { contextText, createSkillCatalog, findSkills, skillDirectory } from "../../definitions/index.ts";
import { isRecord, UserError } from "../../lib/index.ts";
import type { WorkerPort } from "../../ports/index.ts";
import {
  type AgentDefinition,
  type Approval,
  canonicalToolName,
  type LoadedSkill,
  type ProjectSnapshot,
  type RunResult,
  type Settings,
  type SettingsOrigin,
} from "../../protocol/index.ts";
import type { AvailableAgent } from "../../runs/index.ts";
import type { SessionContext } from "../opening/session-context.ts";
import type { SessionOptions } from "../opening/session-options.ts";
import { runCallback } from "../session/with-callback.ts";
import { placeOf } from "../settings/setting-place.ts";
import { type AgentCatalog, type CatalogAgent, createAgentCatalog } from "./agent-catalog.ts";
import {
  agentNotices,
  catalogNotices,
  contextNotices,
  definitionNotices,
  formatDiagnostic,
  missingSessionAgent,
  skillNotices,
  unknownAgent,
  unknownInSettings,
} from "./agent-diagnostics.ts";
import type { AgentCallback } from "./agent-options.ts";
import { type LoadedAgents, reloadable } from "./available-agents.ts";
import { functionsFor, type SplitAgents, splitAgents, writePrompt } from "./define-agent.ts";
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
  /** The embedding program's function to call after each run. */
  readonly callback?: AgentCallback | undefined;
  /** Agents that the main agent can start. */
  readonly agents: LoadedAgents;
  /** Project snapshot taken when the session was opened. */
  readonly project: ProjectSnapshot;
}

type LoadOptions = Pick<
  SessionOptions,
  "agent" | "tools" | "trusted" | "entryPoint" | "catalogSettings" | "settingsOrigins" | "rules"
> & {
  /** Unchecked definitions, keyed by name. */
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
};

export interface LoadParts {
  /** Reads the files. */
  readonly worker: WorkerPort;
  /** Main agent's type in the session to resume; undefined for a new session. */
  readonly before: string | undefined;
}

/** Loads the main agent and the agents that it can start. */
export async function loadAgents(
  options: LoadOptions,
  context: SessionContext,
  parts: LoadParts,
): Promise<LoadedMainAgent> {
  const agents = givenAgents(options, context);
  const split = splitAgents(agents ?? {});
  const data = { ...options, agents: agents && split.data };
  const functionsOf = bindFunctions(split, context);
  const first = await readSnapshot(data, context, parts);
  // A new session has no snapshot to compare with.
  const main = await resolveDefinitions(data, context, { ...parts, snapshot: first!, isFirst: true });
  const { approvals } = main.project;
  const reload = async (known: string | undefined): Promise<LoadedAgents | undefined> => {
    const snapshot = await readSnapshot(data, context, { ...parts, known, approvals });
    if (snapshot === undefined) return undefined;
    const { agents } = await resolveDefinitions(data, context, { ...parts, snapshot, isFirst: false });
    return withFunctions(agents, functionsOf);
  };
  const { prompt, callback } = functionsOf(main.definition);
  return {
    ...main,
    prompt: prompt ? prompt(context.cwd) : main.prompt,
    callback,
    agents: reloadable(withFunctions(main.agents, functionsOf), ({ snapshot }) => reload(snapshot?.hash)),
  };
}

/**
 * Returns the agents that the program defines, in the `agents` option or in its own settings. Agents in settings
 * that come from `loadProjectSettings` are read from their files, because their rights depend on the file.
 */
function givenAgents(
  { agents, catalogSettings, settingsOrigins, rules }: LoadOptions,
  { settings }: SessionContext,
): LoadOptions["agents"] {
  const isLoaded = catalogSettings !== undefined || settingsOrigins !== undefined || rules !== undefined;
  const own = isLoaded ? [] : Object.entries(settings.agents ?? {}).filter(([, value]) => isRecord(value));
  return own.length === 0 ? agents : { ...Object.fromEntries(own), ...agents };
}

type FunctionsOf = (definition: AgentDefinition | undefined) => {
  readonly prompt: ((cwd: string) => string) | undefined;
  readonly callback: AgentCallback | undefined;
};

function bindFunctions(split: SplitAgents, { facts }: SessionContext): FunctionsOf {
  const { platform, docsDirectory, stateDirectory } = facts;
  return (definition) => {
    const { prompt, callback } = functionsFor(definition, split);
    const name = definition?.name ?? "";
    const environment = { platform, docsDirectory, stateDirectory };
    return { prompt: prompt && ((cwd) => writePrompt(name, prompt, { ...environment, cwd })), callback };
  };
}

function withFunctions(agents: LoadedAgents, functionsOf: FunctionsOf): LoadedAgents {
  return {
    ...agents,
    find: async (name) => {
      const found = await agents.find(name);
      if (found === undefined) return undefined;
      const agentType = found.definition.name;
      const { prompt = found.prompt, callback } = functionsOf(found.definition);
      const followUp = callback && ((result: RunResult) => runCallback(callback, result, { agentType }));
      return { ...found, prompt, followUp };
    },
  };
}

interface ReadParts extends LoadParts {
  /** Hash of the session's current snapshot. */
  readonly known?: string | undefined;
  /** Hooks and MCP servers that the workspace's agent files contained when the session began. */
  readonly approvals?: readonly Approval[] | undefined;
}

/** Reads a session's files. Returns undefined if nothing has changed since the session's current snapshot. */
async function readSnapshot(
  { agent, agents, trusted, catalogSettings }: LoadOptions,
  { settings }: SessionContext,
  { worker, before, known, approvals }: ReadParts,
): Promise<ProjectSnapshot | undefined> {
  const answer = await worker.snapshot({
    known,
    trusted,
    trust: catalogSettings?.trust,
    approvals,
    agents,
    settings: catalogSettings?.agents,
    required: mainName({ agent, settings, before }) !== undefined || definesAgents(settings),
    additionalDirectories: settings.permissions?.additionalDirectories,
  });
  return answer.changed ? answer.snapshot : undefined;
}

interface MainChoice {
  readonly agent: string | undefined;
  readonly settings: Settings;
  /** Main agent's type in the session to resume; undefined for a new session. */
  readonly before: string | undefined;
}

/** Returns the name of the main agent's definition; undefined for the `main` agent, which needs none. */
function mainName({ agent, settings, before = settings.agent }: MainChoice): string | undefined {
  return agent ?? (before === MAIN_TYPE ? undefined : before);
}

interface DefinitionParts extends LoadParts {
  readonly snapshot: ProjectSnapshot;
  /** True while the session is being opened. */
  readonly isFirst: boolean;
}

async function resolveDefinitions(
  options: LoadOptions,
  context: SessionContext,
  { worker, before, snapshot, isFirst }: DefinitionParts,
): Promise<LoadedMainAgent> {
  const { cwd, settings, facts } = context;
  const builtIn = {
    disabled: disabledAgents(settings),
    entryPoint: entryPointOf(options, context),
    profile: settings.profile,
  };
  const ownTools = options.tools?.map((tool) => tool.name);
  const loaded = createAgentCatalog(snapshot, { settings: options.catalogSettings, builtIn, ownTools, facts });
  const aboutGiven = loaded.diagnostics.filter(({ file }) => file === "--agents");
  const isCode = options.entryPoint !== "cli";
  const error = aboutGiven.find(({ severity, code }) => severity === "error" || (isCode && brokenInCode.has(code)));
  if (error !== undefined) throw new UserError(error.message, { code: "agents", exitCode: 2, fix: error.fix });
  const givenNotices = aboutGiven.map(formatDiagnostic);
  const projectContext = contextText(snapshot.contextFiles);
  const agents: LoadedAgents = {
    definitions: loaded.catalog.agents.map(({ definition }) => definition),
    nearest: loaded.catalog.nearest,
    snapshot,
    skillCatalog: createSkillCatalog(snapshot.skills),
    warnings: catalogNotices(loaded),
    find: async (wanted) => {
      const found = loaded.catalog.find(wanted)?.agent;
      return found && availableAgent(found, { loaded, worker, docsDirectory: facts.docsDirectory, projectContext });
    },
  };
  const name = mainName({ agent: options.agent, settings, before });
  const isFromSettings = options.agent === undefined && before === undefined;
  const origin = isFromSettings ? options.settingsOrigins?.find(({ path }) => path === "agent") : undefined;
  const found = name === undefined ? undefined : await agents.find(name);
  if (found !== undefined) {
    checkChoice(found.definition, origin);
    const notices = new Set([...givenNotices, ...found.notices, ...agentNotices(loaded), ...catalogNotices(loaded)]);
    return { ...found, prompt: found.prompt(cwd), notices: [...notices], agents, project: snapshot };
  }
  // If the main agent's file is deleted while the session is open, the agent keeps its definition.
  if (name !== undefined && name !== MAIN_TYPE && isFirst) {
    if (isFromSettings) throw unknownInSettings(name, loaded, placeOf(origin));
    throw options.agent === undefined ? missingSessionAgent(name, loaded) : unknownAgent(name, loaded);
  }
  const notices = [
    ...givenNotices,
    ...contextNotices(loaded),
    ...agentNotices(loaded),
    ...catalogNotices(loaded),
    ...skillNotices(loaded),
  ];
  return { projectContext, skills: [], readableRoots: snapshot.skillRoots, notices, agents, project: snapshot };
}

/** Throws a `UserError` if a project's settings choose an agent that bypasses permissions, which only its user may do. */
function checkChoice({ name, permissionMode }: AgentDefinition, origin: SettingsOrigin | undefined): void {
  const isFromProject = origin?.scope === "project" || origin?.scope === "local";
  if (!isFromProject || permissionMode !== "bypassPermissions") return;
  throw new UserError(`${placeOf(origin)} can't choose the agent "${name}", because its mode is bypassPermissions`, {
    code: "agent",
    exitCode: 2,
    fix: `To run it yourself, use the \`agent: ${name}\` option.`,
  });
}

/** Codes of problems that are errors in a program's own definitions: a limit or a hook would have no effect. */
const brokenInCode: ReadonlySet<string> = new Set(["wrong_type", "foreign_hooks"]);

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

interface SharedParts {
  readonly loaded: AgentCatalog;
  /** Opens agents' memories. */
  readonly worker: WorkerPort;
  readonly docsDirectory: string;
  readonly projectContext: string | undefined;
}

async function availableAgent({ definition, body }: CatalogAgent, shared: SharedParts): Promise<AvailableAgent> {
  const { loaded, worker, docsDirectory, projectContext } = shared;
  const { skills: all, skillRoots, trustedRoot } = loaded.snapshot;
  const { found: skills, diagnostics } = findSkills(all, definition.skills ?? [], {
    file: definition.file ?? definition.name,
  });
  const { memory, memoryRoots = [], notice } = await agentMemory(definition, { worker, trustedRoot });
  return {
    projectContext,
    definition,
    prompt: body,
    skills: skills.map((skill) => ({ name: skill.definition.name, text: skillText(skill) })),
    memory,
    readableRoots: [...(isGuide(definition) ? [docsDirectory] : []), ...memoryRoots, ...skillRoots],
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

interface FoundMemory {
  readonly memory?: AgentMemory | undefined;
  /** The memory's directory, if it exists. */
  readonly memoryRoots?: readonly string[] | undefined;
  /** Explains why the memory can't be used. */
  readonly notice?: string | undefined;
}

/** Opens an agent's memory, if it has one. */
async function agentMemory(
  { memory: scope, name: agent }: AgentDefinition,
  { worker, trustedRoot }: { readonly worker: WorkerPort; readonly trustedRoot: string | undefined },
): Promise<FoundMemory> {
  if (scope === undefined) return {};
  if (scope !== "user" && trustedRoot === undefined) {
    const notice = `Agent "${agent}" runs without its memory, which is stored in this untrusted project (memory: ${scope}). Trust the project with "retinue trust add", or for one run with the \`trusted\` option.`;
    return { notice };
  }
  // The memory of a project must be in the trusted part of the project.
  const opened = await worker.openMemory({ scope, agent, projectRoot: trustedRoot });
  if (opened.ok) {
    const { directory, exists, index, cut } = opened;
    return { memory: { directory, index, cut }, memoryRoots: exists ? [directory] : [] };
  }
  return {
    notice: `Agent "${agent}" runs without its memory: ${opened.problem}. Fix this, or remove "memory" from the definition.`,
  };
}

function skillText(skill: LoadedSkill): string {
  return `Paths in this skill are relative to ${skillDirectory(skill.definition)}.\n\n${skill.body.trim()}`;
}

function usesSkills({ tools, skills }: AgentDefinition): boolean {
  if (tools === undefined || skills !== undefined) return true;
  return tools.some((tool) => tool === "*" || canonicalToolName(tool) === "Skill");
}
