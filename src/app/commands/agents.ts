import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeAgent, listedTools } from "../../agents/index.ts";
import { describeError, errorCode, UserError } from "../../lib/index.ts";
import type {
  AgentColor,
  AgentDefinition,
  DefinitionSource,
  Diagnostic,
  PermissionMode,
  Rule,
} from "../../protocol/index.ts";
import { type AgentCatalog, type CatalogOptions, loadAgentCatalog } from "../agents/agent-catalog.ts";
import { isAbout, missingSkills, unknownAgent } from "../agents/agent-diagnostics.ts";
import type { SwitchedOff } from "../agents/catalog-settings.ts";
import { agentList } from "../subagents/delegation.ts";

export interface AgentOverride {
  readonly source: DefinitionSource;
  readonly file?: string | undefined;
  readonly reason: string;
}

export interface AgentRow {
  readonly name: string;
  readonly source: DefinitionSource;
  readonly file: string | null;
  readonly plugin: string | null;
  readonly model: string | null;
  /** Tools as written in the definition; null means every tool. */
  readonly tools: readonly string[] | null;
  readonly disallowedTools: readonly string[];
  /** Canonical names of the tools that the definition leaves the agent; null means every tool except `withoutTools`. */
  readonly resolvedTools: readonly string[] | null;
  readonly withoutTools: readonly string[];
  readonly color: AgentColor | null;
  readonly description: string;
  /** Definitions with the same name that this one replaces. */
  readonly overrides: readonly AgentOverride[];
  /** Number of tokens that the agent's line takes up in the list that models see. */
  readonly tokens: number;
  /** True if the list that models see omits the agent, which can then be used only by name. */
  readonly hidden: boolean;
  /** Names the rule that denies the agent; null if none does. */
  readonly denied: string | null;
}

export interface AgentList {
  readonly agents: readonly AgentRow[];
  /** Built-in agents that the settings disable. */
  readonly switchedOff: readonly SwitchedOff[];
  readonly diagnostics: readonly Diagnostic[];
  /** True if the directory's files are used. */
  readonly trusted: boolean;
  /** Files that were not read because the directory is not trusted. */
  readonly off: readonly string[];
  /** Root of the project. If the root is trusted, all files are read. */
  readonly root: string;
  /** Number of tokens in the list of agents that models see. */
  readonly tokens: number;
}

export async function listAgents(options: CatalogOptions): Promise<AgentList> {
  const loaded = await loadAgentCatalog(options);
  const { agents, tokens } = rowsOf(loaded);
  const { switchedOff, diagnostics, snapshot } = loaded;
  const { trustedRoot, off, root } = snapshot;
  return { agents, tokens, switchedOff, diagnostics, trusted: trustedRoot !== undefined, off, root };
}

export interface SkillRow {
  readonly name: string;
  readonly description: string;
  readonly body: string;
}

/** Lists a workspace's skills by name. */
export async function listSkills(options: CatalogOptions): Promise<readonly SkillRow[]> {
  const { snapshot } = await loadAgentCatalog(options);
  return snapshot.skills
    .map(({ definition: { name, description }, body }) => ({ name, description, body }))
    .sort((left, right) => left.name.localeCompare(right.name, "en"));
}

export interface AgentDetails extends AgentRow {
  /** The complete definition, as read from its source. */
  readonly definition: AgentDefinition;
  readonly bodyCharacters: number;
  readonly diagnostics: readonly Diagnostic[];
}

/** Returns the details of one agent. Throws a `UserError` that suggests similar names if there is no such agent. */
export async function showAgent(name: string, options: CatalogOptions): Promise<AgentDetails> {
  const loaded = await loadAgentCatalog(options);
  const found = loaded.catalog.find(name);
  if (found === undefined) throw unknownAgent(name, loaded);
  const { definition, body } = found.agent;
  const row = rowsOf(loaded).agents.find((each) => each.name === definition.name)!;
  return {
    ...row,
    definition,
    bodyCharacters: body().length,
    diagnostics: [
      ...loaded.diagnostics.filter((each) => isAbout(each, definition)),
      ...missingSkills(definition, loaded),
    ],
  };
}

export function rowsOf({ catalog, rules }: AgentCatalog): { agents: AgentRow[]; tokens: number } {
  const denied = new Map(catalog.agents.map(({ definition: { name } }) => [name, denialOf(name, rules)]));
  const offered = catalog.agents.filter(({ definition: { name } }) => !denied.get(name));
  const { agents: listed, tokens } = agentList(offered.map(({ definition }) => definition));
  const costs = new Map(listed.map((each) => [each.name, each.tokens]));
  const agents = catalog.agents.map(({ definition }): AgentRow => {
    const { name, source, file, plugin, model, tools, disallowedTools = [], color = null, description } = definition;
    const overrides = catalog.overrides
      .filter(({ winner }) => winner.definition === definition)
      .map(({ loser, reason }) => ({
        source: loser.definition.source,
        file: loser.definition.file,
        reason,
      }));
    const optional = { file: file ?? null, plugin: plugin ?? null, model: model ?? null, tools: tools ?? null };
    const cost = { tokens: costs.get(name) ?? 0, hidden: definition.hidden === true, denied: denied.get(name) ?? null };
    const { every, without, names } = listedTools(definition);
    const had = { resolvedTools: every ? null : names, withoutTools: without };
    return { name, source, ...optional, disallowedTools, ...had, color, description, overrides, ...cost };
  });
  return { agents, tokens };
}

function denialOf(name: string, rules: readonly Rule[]): string | null {
  const { effect, rule, scope, file } = judgeAgent(name, { rules });
  return effect === "deny" ? `The rule ${rule} (${file ?? scope}) denies it.` : null;
}

export interface NewAgent {
  readonly name: string;
  readonly description: string;
  /** The agent's tools; all tools if absent. */
  readonly tools?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly permissionMode?: PermissionMode | undefined;
  /** Text below the frontmatter; a template if absent. */
  readonly prompt?: string | undefined;
}

/** Writes a definition under `base` (a project or the home directory) and returns its path. Never overwrites a file. */
export function writeNewAgent(agent: NewAgent, base: string): string {
  const invalid = nameProblem(agent.name);
  if (invalid !== undefined) throw invalid;
  if (agent.description.trim() === "")
    throw usage("The description is empty", "Describe what the agent does and when to use it.");
  const directory = directoryFor(base);
  const path = join(directory, `${agent.name}.md`);
  try {
    mkdirSync(directory, { recursive: true });
    writeFileSync(path, agentFileText(agent), { flag: "wx" });
    return path;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw usage(`${path} can't be written: ${errorCode(error)}`, "Check the path.");
    throw alreadyExists(path);
  }
}

/** Explains why a new agent under `base` can't have this name; undefined if it can. */
export function whyNotNew(name: string, base: string): string | undefined {
  const path = join(directoryFor(base), `${name}.md`);
  const problem = nameProblem(name) ?? (existsSync(path) ? alreadyExists(path) : undefined);
  return problem && describeError(problem);
}

function alreadyExists(path: string): UserError {
  return usage(`${path} already exists`, "Edit it, or choose another name.");
}

/** Returns the directory that contains existing definitions, or the default one. */
export function directoryFor(base: string): string {
  const ours = join(base, ".agents", "agents");
  const compatible = join(base, ".claude", "agents");
  return !existsSync(ours) && existsSync(compatible) ? compatible : ours;
}

/** Checks an agent's name, which is also used as a file name, so it must be valid on all systems. */
export function nameProblem(name: string): UserError | undefined {
  if (/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u.test(name)) return undefined;
  return usage(`"${name}" can't be the name of a new agent`, "Use letters, digits and hyphens, e.g. code-reviewer.");
}

export function agentFileText({ name, description, tools, model, permissionMode, prompt }: NewAgent): string {
  const fields = [
    `name: ${scalar(name)}`,
    `description: ${scalar(description)}`,
    ...(tools === undefined ? [] : [`tools: ${tools.length === 0 ? "[]" : scalar(tools.join(", "))}`]),
    ...(model === undefined ? [] : [`model: ${scalar(model)}`]),
    ...(permissionMode === undefined ? [] : [`permissionMode: ${permissionMode}`]),
  ];
  const body = prompt === undefined ? bodyFor(name) : `${prompt.trim()}\n`;
  return `---\n${fields.join("\n")}\n---\n\n${body}`;
}

/** Quotes a value if YAML would not read it as the same text. */
function scalar(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const isPlain =
    /^[\p{L}][\p{L}\p{N} ,.()'/_*-]*$/u.test(line) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(line);
  return isPlain ? line : JSON.stringify(line);
}

function bodyFor(name: string): string {
  return `You are ${name}. You do one task for another agent, which sees only your final report.

## How to work
1. Read the task and decide what counts as done before you change anything.
2. Read the relevant files before you judge them. Search instead of guessing.
3. Do what was asked and nothing else. Mention problems outside the task, but leave them alone.
4. Check the result the way its user would: run it, or read it again.

## Report
- The answer first, in one or two sentences.
- Then the evidence: file and line, or the command and its output.
- Last, what you could not do or check, and why.
`;
}

function usage(message: string, fix: string): UserError {
  return new UserError(message, { code: "usage", fix, exitCode: 2 });
}
