import { type AgentMemory, MAIN_TYPE } from "../../agents/index.ts";
import {
  contextText,
  createSkillCatalog,
  findSkills,
  type LoadedSkill,
  openMemory,
  pluginDirectory,
  skillDirectory,
} from "../../definitions/index.ts";
import { UserError } from "../../lib/index.ts";
import { type AgentDefinition, canonicalToolName, type Diagnostic } from "../../protocol/index.ts";
import type { AvailableAgent } from "../../runs/index.ts";
import { docsDirectory, existingDirectories } from "../places.ts";
import { type AgentCatalog, type CatalogAgent, type CatalogPlace, loadAgentCatalog } from "./agent-catalog.ts";
import { isGuide, type LoadedAgents } from "./available-agents.ts";
import { unknownAgent } from "./unknown-agent.ts";

/** What files and flags give to the agent of a session. */
export interface LoadedAgent {
  /** Absent: the main agent itself. */
  readonly definition?: AgentDefinition;
  readonly prompt?: string;
  /** Those its definition names: they stand in its prompt. */
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
  /** What it may read beyond the workspace. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
  /** Who can work for it. */
  readonly agents: LoadedAgents;
}

export interface NamedAgent {
  readonly name: string;
  /** Nobody named it now: it worked in this session before. */
  readonly isOld: boolean;
}

/** Everything an agent is made of, by its name. Throws a `UserError` for one that is not there. */
export async function loadAgentFiles(named: NamedAgent | undefined, place: CatalogPlace): Promise<LoadedAgent> {
  const loaded = await loadAgentCatalog(place);
  const wrong = loaded.diagnostics.find(({ file, severity }) => file === "--agents" && severity === "error");
  if (wrong !== undefined) throw new UserError(wrong.message, { code: "agents", exitCode: 2, ...cureOf(wrong) });
  const projectContext = contextText(loaded.snapshot.contextFiles);
  const context = { projectContext };
  const ofContext = aboutContext(loaded);
  const shelf = createSkillCatalog(loaded.snapshot.skills);
  const roots = rootsOf(loaded.snapshot.skills, place.home);
  const agents: LoadedAgents = {
    definitions: loaded.catalog.agents.map(({ definition }) => definition),
    nearest: loaded.catalog.nearest,
    snapshot: loaded.snapshot,
    shelf,
    find: (name) => {
      const found = loaded.catalog.find(name)?.agent;
      return found && piecesOf(found, { loaded, place, context, ofContext, roots });
    },
  };
  const aboutGiven = loaded.diagnostics.filter(({ file }) => file === "--agents").map(described);
  const notices = [...aboutGiven, ...ofContext, ...aboutAgents(loaded), ...aboutSkills(loaded)];
  const main = { ...context, skills: [], readableRoots: roots, notices, agents };
  if (named === undefined) return main;
  const found = agents.find(named.name);
  if (found === undefined && named.name === MAIN_TYPE) return main;
  if (found === undefined) throw missingAgent(named, loaded);
  return {
    ...context,
    ...found,
    prompt: found.prompt(place.cwd),
    notices: [...aboutGiven, ...found.notices],
    agents,
  };
}

interface Surroundings {
  readonly loaded: AgentCatalog;
  readonly place: CatalogPlace;
  readonly context: Pick<AvailableAgent, "projectContext">;
  /** About context files. */
  readonly ofContext: readonly string[];
  readonly roots: readonly string[];
}

function piecesOf(
  { definition, body }: CatalogAgent,
  { loaded, place, context, ofContext, roots }: Surroundings,
): AvailableAgent {
  const { found: skills, diagnostics } = findSkills(loaded.snapshot.skills, definition.skills ?? [], {
    file: definition.file ?? definition.name,
  });
  const { memory, notice } = memoryOf(definition, { stateHome: place.home, trustedRoot: loaded.trustedRoot });
  return {
    ...context,
    definition,
    prompt: body,
    skills: skills.map((skill) => ({ name: skill.definition.name, text: textOf(skill) })),
    memory,
    readableRoots: existingDirectories([
      ...(isGuide(definition) ? [docsDirectory()] : []),
      ...(memory ? [memory.directory] : []),
      ...roots,
    ]),
    notices: [
      ...(definition.omitProjectContext ? [] : ofContext),
      // What was given with the call is told when the session begins, of all agents: no other command reads it.
      ...(definition.source === "flag" ? [] : aboutFile(loaded, definition.file)),
      ...(usesSkills(definition) ? aboutSkills(loaded) : []),
      ...diagnostics.map(described),
      ...(notice === undefined ? [] : [notice]),
    ],
  };
}

/** Empty for one that has none; with a notice where it has one that can't be used now. */
function memoryOf(
  { memory: scope, name: agent }: AgentDefinition,
  { stateHome, trustedRoot }: { readonly stateHome: string; readonly trustedRoot: string | undefined },
): { readonly memory?: AgentMemory; readonly notice?: string } {
  if (scope === undefined) return {};
  if (scope !== "user" && trustedRoot === undefined) {
    const notice = `Agent "${agent}" has its memory in the project (memory: ${scope}), which is not trusted: it works without. Trust it with "retinue trust add", or for one run with --trust.`;
    return { notice };
  }
  // What stands above the directory that is trusted is somebody else's word.
  const opened = openMemory({ scope, agent, stateHome, projectRoot: trustedRoot ?? stateHome });
  if (opened.ok) return { memory: opened };
  return {
    notice: `Agent "${agent}" works without its memory: ${opened.problem}. Remove it, or put in its place what belongs there.`,
  };
}

function textOf(skill: LoadedSkill): string {
  return `Paths in it are relative to ${skillDirectory(skill.definition)}.\n\n${skill.body().trim()}`;
}

/** A skill may speak of any file beside it, and one of a plugin of any file of the plugin. */
function rootsOf(skills: readonly LoadedSkill[], home: string): readonly string[] {
  const directories = skills.map(({ definition }) =>
    definition.plugin === undefined ? skillDirectory(definition) : pluginDirectory(home, definition.plugin),
  );
  return [...new Set(directories)];
}

function usesSkills({ tools, skills }: AgentDefinition): boolean {
  if (tools === undefined || skills !== undefined) return true;
  return tools.some((tool) => tool === "*" || canonicalToolName(tool) === "Skill");
}

function missingAgent({ name, isOld }: NamedAgent, loaded: AgentCatalog): UserError {
  const unknown = unknownAgent(name, loaded);
  if (!isOld) return unknown;
  const cure = `${unknown.cure} To go on with another one: --agent NAME, or --agent ${MAIN_TYPE}.`;
  const message = `This session was worked on by the agent "${name}", which is no longer there`;
  return new UserError(message, { code: "agent", cure, exitCode: 2 });
}

function cureOf({ fix }: Diagnostic): { readonly cure?: string } {
  return fix === undefined ? {} : { cure: fix };
}

/** What is wrong with context files and what they import; also with one that could not be read at all. */
function aboutContext({ diagnostics }: AgentCatalog): readonly string[] {
  return diagnostics.filter(({ code }) => /^(context|import)_/.test(code)).map(described);
}

/** Why an agent is not there that somebody wrote. A text beside the agents is none. */
function aboutAgents({ diagnostics }: AgentCatalog): readonly string[] {
  const failed = diagnostics.filter(
    ({ file, code, severity }) => severity === "error" && code !== "no_frontmatter" && isAgentFile(file),
  );
  const files = [...new Set(failed.map(({ file }) => file))];
  if (files.length <= mostTold) return failed.map(described);
  const first = files.slice(0, mostTold).join(", ");
  const more = files.length - mostTold;
  return [`${files.length} files of agents do not load: ${first} and ${more} more. "retinue agents check" says why.`];
}

const mostTold = 3;

function isAgentFile(file: string): boolean {
  return /[/\\]agents[/\\].*\.md$/i.test(file) && !/[/\\]skill\.md$/i.test(file);
}

/** Why a skill is not there that somebody wrote. */
function aboutSkills({ diagnostics }: AgentCatalog): readonly string[] {
  const isAbout = (file: string) => /(^|\/)skill\.md$|\/\.(agents|claude)\/skills(\/|$)/i.test(file);
  return diagnostics.filter(({ file, severity }) => severity !== "notice" && isAbout(file)).map(described);
}

/** What is wrong with a file; what is only good to know stays with `retinue agents check`. */
function aboutFile({ diagnostics }: AgentCatalog, wanted: string | undefined): readonly string[] {
  return diagnostics.filter(({ file, severity }) => severity !== "notice" && file === wanted).map(described);
}

function described({ file, line, message, fix }: Diagnostic): string {
  return `${file}:${line}: ${message}${fix === undefined ? "" : ` ${fix}`}`;
}
