import type { AgentDefinition } from "../../protocol/index.ts";
import { type CappedList, cappedList, type ListedEntry } from "./capped-list.ts";

export interface ListOptions {
  /** Returns the tools that an agent really has, as text, and their number if it is known. */
  readonly toolsOf: (agent: AgentDefinition) => { readonly text: string; readonly count: number | undefined };
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
  { toolsOf, maxPerAgent = 200, maxTotal = 8_000 }: ListOptions,
): DelegationList {
  const offered = agents.filter(({ hidden }) => hidden !== true);
  const lines = offered.map((agent) => {
    const { name, description, source } = agent;
    const { text, count } = toolsOf(agent);
    const properties = propertiesOf(agent);
    const prefix = properties.length > 0 ? `Properties: ${properties.join(", ")}; ` : "";
    const shortSuffix = count === undefined ? "" : ` (Tools: ${count})`;
    return { name, description, source, suffix: ` (${prefix}Tools: ${text})`, shortSuffix };
  });
  const { entries, ...list } = cappedList(lines, { maxPerLine: maxPerAgent, maxTotal });
  return { ...list, agents: entries };
}

function propertiesOf({ forkContext, background, isolation, memory }: AgentDefinition): string[] {
  const properties: string[] = [];
  if (forkContext) properties.push("access to the current context");
  if (background) properties.push("background");
  if (isolation === "worktree") properties.push("own worktree");
  if (memory !== undefined) properties.push("remembers");
  return properties;
}
