import { type AgentDefinition, canonicalToolName } from "../../protocol/index.ts";
import { type CappedList, cappedList, type ListedEntry } from "./capped-list.ts";

export interface ListLimits {
  /** Limit in tokens for one agent's line. */
  readonly maxPerAgent?: number | undefined;
  /** Limit in tokens for the whole text. */
  readonly maxTotal?: number | undefined;
}

export type ListedAgent = ListedEntry;

export interface DelegationList extends Omit<CappedList, "entries"> {
  /** Agents sorted by name, as in the text. */
  readonly agents: readonly ListedAgent[];
}

/** Formats the list that a model chooses an agent from. Hidden agents are left out, but can still be called by name. */
export function delegationList(
  agents: readonly AgentDefinition[],
  { maxPerAgent = 200, maxTotal = 8_000 }: ListLimits = {},
): DelegationList {
  const offered = agents.filter(({ hidden }) => hidden !== true);
  const lines = offered.map((agent) => ({
    name: agent.name,
    description: agent.description,
    source: agent.source,
    suffix: suffixOf(agent),
    shortSuffix: shortSuffixOf(agent),
  }));
  const { entries, ...list } = cappedList(lines, { maxPerLine: maxPerAgent, maxTotal });
  return { ...list, agents: entries };
}

function suffixOf(agent: AgentDefinition): string {
  const properties = propertiesOf(agent);
  const prefix = properties.length > 0 ? `Properties: ${properties.join(", ")}; ` : "";
  return ` (${prefix}Tools: ${toolsOf(agent)})`;
}

function shortSuffixOf({ tools }: AgentDefinition): string {
  if (tools === undefined || tools.includes("*")) return "";
  return ` (Tools: ${tools.length})`;
}

function propertiesOf({ forkContext, background, isolation, memory }: AgentDefinition): string[] {
  const properties: string[] = [];
  if (forkContext) properties.push("access to the current context");
  if (background) properties.push("background");
  if (isolation === "worktree") properties.push("own worktree");
  if (memory !== undefined) properties.push("remembers");
  return properties;
}

function toolsOf({ tools, disallowedTools = [] }: AgentDefinition): string {
  // An entry with a specifier is a rule and does not remove the tool.
  const removed = unique(disallowedTools.filter((tool) => !tool.includes("(")).map(canonicalToolName));
  if (tools === undefined || tools.includes("*")) {
    return removed.length > 0 ? `All tools except ${removed.join(", ")}` : "All tools";
  }
  const granted = unique(tools.map(canonicalName)).filter((tool) => !removed.includes(tool));
  return granted.length > 0 ? granted.join(", ") : "None";
}

function canonicalName(tool: string): string {
  const [name = tool] = tool.split("(");
  return canonicalToolName(name.trim()) + tool.slice(name.length);
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
