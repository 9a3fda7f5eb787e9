import { type AgentView, stateOf } from "../../client/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import { groupBy } from "../parts/group-by.ts";
import { doingWords } from "./agent-words.ts";

/** A row of the tree: an agent, or the heading of a group of agents. */
export type TreeRow =
  | { readonly kind: "agent"; readonly agent: AgentView; readonly level: number }
  | {
      readonly kind: "group";
      readonly key: string;
      readonly state: string;
      readonly type: string;
      readonly members: readonly AgentView[];
      readonly isOpen: boolean;
    };

export type GroupRow = Extract<TreeRow, { kind: "group" }>;

/** Maximum number of agents that are all shown as a tree. */
export const FEW = 50;

interface Grouping {
  readonly selected: AgentId;
  /** Groups that the user has opened or closed. */
  readonly toggled: ReadonlyMap<string, boolean>;
  /** Whether the agents were found by a search, so that all of them are shown. */
  readonly isSearched: boolean;
}

/** Returns the rows for agents in tree order. If there are many, they are grouped by state and type. */
export function treeRows(
  agents: readonly AgentView[],
  { selected, toggled, isSearched }: Grouping,
): readonly TreeRow[] {
  if (agents.length <= FEW) return agents.map((agent) => ({ kind: "agent", agent, level: agent.path.length }));
  const rows: TreeRow[] = [];
  const [mains, others] = [agents.filter(isMain), agents.filter((agent) => !isMain(agent))];
  for (const agent of mains) rows.push({ kind: "agent", agent, level: 0 });
  const groups = [...groupBy(others, (agent) => `${stateName(agent)}\n${agent.agentType}`)].sort(
    ([one], [other]) => rankOf(one) - rankOf(other),
  );
  for (const [key, members] of groups) {
    const [state = "", type = ""] = key.split("\n");
    const isOpen =
      toggled.get(key) ??
      (isSearched ||
        (openedFirst.has(state) && members.length <= FEW) ||
        members.some(({ agentId }) => agentId === selected));
    rows.push({ kind: "group", key, state, type, members, isOpen });
    if (isOpen) for (const agent of members) rows.push({ kind: "agent", agent, level: 1 });
  }
  return rows;
}

function isMain({ agentId }: AgentView): boolean {
  return agentId === MAIN_AGENT;
}

function stateName(agent: AgentView): string {
  const state = stateOf(agent);
  if (state === "waitingForApproval") return "waiting for you";
  if (state === "running") return "working";
  if (state === "waitingForAgents") return "waiting for agents";
  // Groups say how their agents ended. That they can be resumed is in the details of each one.
  return doingWords(agent).replace(/, can be resumed$/, "");
}

const order = ["waiting for you", "failed", "working", "waiting for agents", "cut", "stopped", "paused", "succeeded"];
/** States whose groups are open at first, if they are small. */
const openedFirst: ReadonlySet<string> = new Set(["waiting for you", "working"]);

function rankOf(key: string): number {
  const index = order.findIndex((state) => key.startsWith(state));
  return index === -1 ? order.length : index;
}
