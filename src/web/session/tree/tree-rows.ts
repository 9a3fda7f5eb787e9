import { type AgentView, parentOf, stateOf, stateWords } from "../../../client/index.ts";
import { type AgentId, MAIN_AGENT } from "../../../protocol/index.ts";
import { groupBy } from "../../parts/group-by.ts";
import { doingWords } from "../agent/agent-words.ts";

/** A row of the tree: an agent, or the heading of a group of agents. */
export type TreeRow = AgentRow | GroupRow;

export interface AgentRow {
  readonly kind: "agent";
  readonly agent: AgentView;
  /** Number of agents and groups above this row that contain it. */
  readonly level: number;
  /** The agent's parent, if it is not above this row. */
  readonly parent?: AgentView | undefined;
  /**
   * `whole`: with the agent's type. `grouped`: the group's heading names the type. `line`: the heading also says how the
   * agent ended, so that its name and its cost are enough.
   */
  readonly form: "whole" | "grouped" | "line";
}

export interface GroupRow {
  readonly kind: "group";
  readonly key: string;
  readonly state: string;
  readonly type: string;
  readonly members: readonly AgentView[];
  readonly isOpen: boolean;
}

/** If there are more agents than this, they are grouped instead of shown as a tree. */
const FEW = 50;

interface Grouping {
  readonly selected: AgentId;
  /** Groups that the user has opened or closed. */
  readonly toggled: ReadonlyMap<string, boolean>;
  /** Whether each group was open when it was last shown. It stays that way when the number of its agents changes. */
  readonly shown: ReadonlyMap<string, boolean>;
  /** Whether the agents were found by a search, so that all of them are shown. */
  readonly isSearched: boolean;
  /** Returns any of the session's agents, for the names of parents. */
  readonly agentOf: (id: AgentId) => AgentView | undefined;
}

/** Returns the rows for agents in tree order. If there are many, they are grouped by state and type. */
export function treeRows(
  agents: readonly AgentView[],
  { selected, toggled, shown, isSearched, agentOf }: Grouping,
): readonly TreeRow[] {
  if (agents.length <= FEW) return nested(agents, agentOf).map((row) => ({ ...row, form: "whole" }));
  const rows: TreeRow[] = [];
  const [mains, others] = [agents.filter(isMain), agents.filter((agent) => !isMain(agent))];
  for (const agent of mains) rows.push({ kind: "agent", agent, level: 0, form: "whole" });
  const groups = [...groupBy(others, (agent) => `${stateName(agent)}\n${agent.agentType}`)].sort(
    ([one], [other]) => rankOf(one) - rankOf(other),
  );
  for (const [key, members] of groups) {
    const [state = "", type = ""] = key.split("\n");
    const isOpen =
      toggled.get(key) ??
      (isSearched ||
        members.some(({ agentId }) => agentId === selected) ||
        (shown.get(key) ?? (openedFirst.has(state) && members.length <= FEW)));
    rows.push({ kind: "group", key, state, type, members, isOpen });
    if (!isOpen) continue;
    for (const row of nested(members, agentOf)) {
      const isLine = row.parent === undefined && stateOf(row.agent) === "ended";
      rows.push({ ...row, level: row.level + 1, form: isLine ? "line" : "grouped" });
    }
  }
  return rows;
}

/** Places each agent below its ancestors that are also in the list. */
function nested(
  agents: readonly AgentView[],
  agentOf: Grouping["agentOf"],
): readonly Pick<AgentRow, "kind" | "agent" | "level" | "parent">[] {
  const shown = new Set(agents.map(({ agentId }) => agentId));
  return agents.map((agent) => {
    const parent = parentOf(agent);
    const isBelow = parent === undefined || parent === MAIN_AGENT || shown.has(parent);
    const above = agent.path.slice(0, -1).filter((id) => shown.has(id)).length;
    const level = above + (shown.has(MAIN_AGENT) && !isMain(agent) ? 1 : 0);
    return { kind: "agent", agent, level, parent: isBelow ? undefined : agentOf(parent) };
  });
}

function isMain({ agentId }: AgentView): boolean {
  return agentId === MAIN_AGENT;
}

function stateName(agent: AgentView): string {
  const state = stateOf(agent);
  if (state === "waitingForApproval") return "waiting for you";
  if (state === "running") return "working";
  if (state === "delayed") return stateWords(agent);
  if (state === "waitingForAgents") return "waiting for agents";
  // Groups say how their agents ended. The details of each agent say whether it can be resumed.
  return doingWords(agent).replace(/, can be resumed$/, "");
}

const order = ["waiting for you", "failed", "working", "waiting for", "cut", "stopped", "paused", "succeeded"];
/** States whose groups are initially open, if they are small. */
const openedFirst: ReadonlySet<string> = new Set(["waiting for you", "working"]);

function rankOf(key: string): number {
  const index = order.findIndex((state) => key.startsWith(state));
  return index === -1 ? order.length : index;
}
