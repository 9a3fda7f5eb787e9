import { judgeAgent } from "../../agents/index.ts";
import { delegationList } from "../../definitions/index.ts";
import {
  type AgentDefinition,
  canonicalToolName,
  type DefinitionSource,
  type Diagnostic,
  type Rule,
} from "../../protocol/index.ts";
import { type AgentCatalog, type CatalogPlace, loadAgentCatalog } from "../agents/agent-catalog.ts";
import type { SwitchedOff } from "../agents/catalog-settings.ts";
import { missingSkills, unknownAgent } from "../agents/unknown-agent.ts";

export { type AgentCheck, checkAgents, definitionDirectories } from "./check-agents.ts";
export { type LintReport, lintAgents } from "./lint-agents.ts";
export { type NewAgent, whyNotNew, writeNewAgent } from "./new-agent.ts";

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
  /** As written; null: every tool. */
  readonly tools: readonly string[] | null;
  readonly disallowedTools: readonly string[];
  readonly description: string;
  /** Others of this name that it takes the place of. */
  readonly overrides: readonly AgentOverride[];
  /** What it costs in the list a model chooses from. */
  readonly tokens: number;
  /** Not in that list; only a name finds it. */
  readonly hidden: boolean;
  /** Nobody can give it work, and why; null: no rule says so. */
  readonly denied: string | null;
}

export interface AgentList {
  readonly agents: readonly AgentRow[];
  /** Built-in ones that settings take away. */
  readonly switchedOff: readonly SwitchedOff[];
  readonly diagnostics: readonly Diagnostic[];
  /** Whether the directory's own files count. */
  readonly trusted: boolean;
  /** What was not read for want of trust. */
  readonly off: readonly string[];
  /** The root of the project: trusted, nothing of it is off. */
  readonly root: string;
  /** Of the whole list a model chooses from. */
  readonly tokens: number;
}

export async function listAgents(place: CatalogPlace): Promise<AgentList> {
  const loaded = await loadAgentCatalog(place);
  const { agents, tokens } = rowsOf(loaded);
  const { switchedOff, diagnostics, trusted, root } = loaded;
  return { agents, tokens, switchedOff, diagnostics, trusted, off: loaded.snapshot.off, root };
}

export interface AgentDetails extends AgentRow {
  /** All its fields as they were read. */
  readonly definition: AgentDefinition;
  /** Canonical names; null: every tool. */
  readonly resolvedTools: readonly string[] | null;
  readonly bodyCharacters: number;
  readonly diagnostics: readonly Diagnostic[];
}

/** Throws a `UserError` that names the nearest ones. */
export async function showAgent(name: string, place: CatalogPlace): Promise<AgentDetails> {
  const loaded = await loadAgentCatalog(place);
  const found = loaded.catalog.find(name);
  if (found === undefined) throw unknownAgent(name, loaded);
  const { definition, body } = found.agent;
  const row = rowsOf(loaded).agents.find((each) => each.name === definition.name)!;
  return {
    ...row,
    definition,
    resolvedTools: resolvedNames(definition),
    bodyCharacters: body().length,
    diagnostics: [
      ...loaded.diagnostics.filter(({ file }) => file === definition.file),
      ...missingSkills(definition, loaded),
    ],
  };
}

function rowsOf({ catalog, rules }: AgentCatalog): { agents: AgentRow[]; tokens: number } {
  const denied = new Map(catalog.agents.map(({ definition: { name } }) => [name, denialOf(name, rules)]));
  const offered = catalog.agents.filter(({ definition: { name } }) => !denied.get(name));
  const { agents: listed, tokens } = delegationList(offered.map(({ definition }) => definition));
  const costs = new Map(listed.map((each) => [each.name, each.tokens]));
  const agents = catalog.agents.map(({ definition }): AgentRow => {
    const { name, source, file, plugin, model, tools, disallowedTools = [], description } = definition;
    const overrides = catalog.overrides
      .filter(({ winner }) => winner.definition === definition)
      .map(({ loser, reason }) => ({
        source: loser.definition.source,
        file: loser.definition.file,
        reason,
      }));
    const written = { file: file ?? null, plugin: plugin ?? null, model: model ?? null, tools: tools ?? null };
    const cost = { tokens: costs.get(name) ?? 0, hidden: definition.hidden === true, denied: denied.get(name) ?? null };
    return { name, source, ...written, disallowedTools, description, overrides, ...cost };
  });
  return { agents, tokens };
}

function denialOf(name: string, rules: readonly Rule[]): string | null {
  const { effect, rule, scope, file } = judgeAgent(name, { rules });
  return effect === "deny" ? `The rule ${rule} (${file ?? scope}) denies it.` : null;
}

/** Without what is bare in `disallowedTools`; a name with a specifier there restricts the tool and leaves it. */
function resolvedNames({ tools, disallowedTools = [] }: AgentDefinition): readonly string[] | null {
  if (tools === undefined || tools.includes("*")) return null;
  const removed = new Set(disallowedTools.filter((each) => !each.includes("(")).map(canonicalToolName));
  const names = tools.map((each) => canonicalToolName(each.replace(/\(.*$/s, "").trim()));
  return [...new Set(names)].filter((each) => !removed.has(each));
}
