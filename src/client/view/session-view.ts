import {
  type AgentColor,
  type AgentId,
  type CallId,
  type CommandFact,
  type DeniedFact,
  type EventOf,
  MAIN_AGENT,
  noUsage,
  type PermissionMode,
  type PromptId,
  type ReservedSpend,
  type RunEnd,
  type RunId,
  type SessionId,
  type ToolCall,
  type Usage,
  type UserBlock,
} from "../../protocol/index.ts";
import type { CallItem, Item } from "./items.ts";
import { at, elements, emptyList, emptyMap, get, type List, type PersistentMap } from "./persistent.ts";

/**
 * Everything that a user interface shows about a session, computed from its updates. Views are immutable plain data and
 * share the parts that did not change.
 */
export interface SessionView {
  readonly sessionId?: SessionId | undefined;
  readonly cwd?: string | undefined;
  /** Position of the last update that has one. */
  readonly seq: number;
  /** Agents in the order they were first seen. The main agent comes first. */
  readonly agents: List<AgentView>;
  readonly indexes: PersistentMap<number>;
  /** Ids of the agents that have a run in progress, or wait for a slot to start one. */
  readonly running: readonly AgentId[];
  /** Requests for approval that are waiting for an answer, oldest first. */
  readonly approvals: readonly PendingApproval[];
  /** Queued prompts. */
  readonly queue: readonly QueuedPrompt[];
  /** Number of updates that could not be parsed, such as damaged lines. They have no other effect. */
  readonly skipped: number;
  /** Time of the connection over which live events arrive. Live text that began earlier may lack its beginning. */
  readonly connectedAt: number;
  /** Number of items to keep for each agent that is not open. If undefined, all are kept. */
  readonly keep?: number | undefined;
}

/** An agent's state, computed from the updates of all its runs. */
export interface AgentView extends AgentTotals {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly name?: string | undefined;
  readonly description: string;
  /** Directory in which the agent works. */
  readonly cwd?: string | undefined;
  /** Ids from the main agent's child down to this agent. Empty for the main agent. */
  readonly path: readonly AgentId[];
  /** The parent's call that started or resumed this agent. */
  readonly callId?: CallId | undefined;
  /** Number of direct subagents in the session's `running`. */
  readonly runningChildren: number;
  readonly background: boolean;
  /** Color of the agent's definition. */
  readonly color?: AgentColor | undefined;
  readonly model: string;
  /** Size of the model's context window in tokens. */
  readonly window?: number | undefined;
  /** Number of tokens in the newest request and its response, which the next request repeats. */
  readonly contextTokens: number;
  readonly permissionMode?: PermissionMode | undefined;
  readonly maxTurns?: number | undefined;
  /** Number of turns in earlier runs that count towards `maxTurns`, because the last run continues those runs. */
  readonly continuedTurns?: number | undefined;
  /** The last run, or the one that waits for a slot to resume the agent. */
  readonly runId?: RunId | undefined;
  /** Start of the last run, or the agent's creation if it has had none. Milliseconds since 1970. */
  readonly startedAt: number;
  readonly lastEventAt: number;
  readonly step: Step;
  /** The most that the request in progress can cost. */
  readonly reserved?: ReservedSpend | undefined;
  /** The end of the most recent text that was recorded. */
  readonly lastText: string;
  /** The call that ended last, without its result. */
  readonly lastCall?: CallItem | undefined;
  /** Purpose of the open calls, in the agent's own words; may be empty. */
  readonly announcement: string;
  /** Calls in the last response that have no result yet. */
  readonly calls: readonly CallItem[];
  /** Calls that the last run left open when it was parked or cut off. The next run continues them. */
  readonly openCalls?: readonly CallItem[] | undefined;
  /** The response that is being written. It is replaced by the items of the recorded response. */
  readonly draft?: Draft | undefined;
  /** Totals of the agent's earlier runs. */
  readonly before: AgentTotals;
  /** How the last run ended; undefined while the agent is running. */
  readonly end?: RunEnd | undefined;
  /**
   * Set if the last run has no recorded end and can't get one anymore: the session was closed, or the caller's run
   * ended.
   */
  readonly isCutOff?: true | undefined;
  /** The last items, or all if the agent is open. */
  readonly items: List<Item>;
  /** Number of items before the first one in `items`. */
  readonly dropped: number;
  /** Set if all items are kept. */
  readonly isOpened?: true | undefined;
}

/** An agent's calls and usage in all its runs. */
export interface AgentTotals {
  readonly turns: number;
  readonly toolCalls: number;
  readonly usage: Usage;
  /** Total cost; undefined if part of it has no known price. */
  readonly costUsd: number | undefined;
  /**
   * Set if `costUsd` contains the most that a request can have cost, because its response was lost with the process.
   */
  readonly isCostAtMost?: true | undefined;
  readonly denied: readonly DeniedFact[];
  /** Files that the agent, and subagents that reported to it, changed in runs that have ended. */
  readonly filesChanged: readonly string[];
  /** Shell commands of runs that have ended. */
  readonly commands: readonly CommandFact[];
}

/** What an agent is doing while it has no open calls and is not writing, and since when. */
export type Step = { readonly since: number } & (
  | { readonly kind: "starting" | "asking" | "working" | "compacting" }
  /** The last response has no calls. The agent waits for its background agents, if any, and ends. */
  | { readonly kind: "done" }
  | { readonly kind: "retrying"; readonly error: string }
  | { readonly kind: "delayed"; readonly by: Delay }
);

/**
 * A limit that an agent waits for before it can continue: a slot if the number of concurrent agents is limited, the part
 * of the budget that other agents' requests have reserved, or the provider's rate limit.
 */
export type Delay = "slot" | EventOf<"run.delayed">["by"];

/** A response that is being written, from live events. */
export interface Draft {
  readonly turn: number;
  readonly parts: readonly DraftPart[];
  /** Set if the beginning may be missing, because it was written before the client connected. */
  readonly isPartial?: true | undefined;
  /** Set if parts are missing, because the client was too slow to receive them. */
  readonly hasGaps?: true | undefined;
}

/** A part of a response that is being written. */
export type DraftPart =
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | { readonly kind: "call"; readonly index: number; readonly name: string; readonly json: string };

/** A call that is waiting for approval. */
export interface PendingApproval {
  readonly requestId: string;
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly path: readonly AgentId[];
  readonly call: ToolCall;
  readonly decision: { readonly reason: string };
  /** Rules that an "always" answer can add. */
  readonly always: readonly string[];
  readonly askedAt: number;
}

/** A queued prompt. */
export interface QueuedPrompt {
  readonly agentId: AgentId;
  readonly promptId: PromptId;
  readonly content: readonly UserBlock[];
}

/** Options for `newSessionView`. */
export interface ViewOptions {
  /** Number of items to keep for each agent that is not open. By default, all items are kept. */
  readonly keep?: number | undefined;
}

/** Returns the view of a session before its first update. */
export function newSessionView({ keep }: ViewOptions = {}): SessionView {
  return {
    seq: 0,
    agents: emptyList,
    indexes: emptyMap,
    running: [],
    approvals: [],
    queue: [],
    skipped: 0,
    connectedAt: 0,
    keep,
  };
}

const noTotals: AgentTotals = {
  turns: 0,
  toolCalls: 0,
  usage: noUsage,
  costUsd: 0,
  denied: [],
  filesChanged: [],
  commands: [],
};

export type NewAgent = Pick<AgentView, "agentId" | "agentType" | "path" | "startedAt">;

/** All fields are copied at once, because adding them one by one takes ten times as much memory for each agent. */
const blankAgent: AgentView = {
  ...noTotals,
  agentId: MAIN_AGENT,
  agentType: MAIN_AGENT,
  path: [],
  startedAt: 0,
  description: "",
  runningChildren: 0,
  background: false,
  model: "",
  lastEventAt: 0,
  step: { kind: "starting", since: 0 },
  contextTokens: 0,
  lastText: "",
  announcement: "",
  calls: [],
  before: noTotals,
  items: emptyList,
  dropped: 0,
};

export function newAgentView(agent: NewAgent): AgentView {
  const { startedAt } = agent;
  return { ...blankAgent, ...agent, lastEventAt: startedAt, step: { kind: "starting", since: startedAt } };
}

/** Returns an agent by its id. */
export function agentOf({ agents, indexes }: SessionView, agentId: AgentId): AgentView | undefined {
  const index = get(indexes, agentId);
  return index === undefined ? undefined : at(agents, index);
}

/**
 * Returns the agents depth first, the main agent first, siblings in the order they were first seen. Takes time in
 * proportion to the number of agents.
 */
export function inTreeOrder(view: SessionView): readonly AgentView[] {
  const tops: AgentView[] = [];
  const children = new Map<AgentId, AgentView[]>();
  for (const agent of elements(view.agents)) {
    const parent = parentOf(agent);
    const siblings = parent === undefined || agentOf(view, parent) === undefined ? tops : children.get(parent);
    if (siblings === undefined) children.set(parent ?? MAIN_AGENT, [agent]);
    else siblings.push(agent);
  }
  const family = (agent: AgentView): AgentView[] => [agent, ...(children.get(agent.agentId) ?? []).flatMap(family)];
  return tops.flatMap(family);
}

/** Returns the id of the agent that an agent works for; undefined for the main agent. */
export function parentOf({ agentId, path }: AgentView): AgentId | undefined {
  return agentId === MAIN_AGENT ? undefined : (path.at(-2) ?? MAIN_AGENT);
}

/**
 * `running`: the agent is working. `delayed`: it is waiting for a limit. `idle`: the main agent has ended its last run
 * and is waiting for a prompt. `ended`: a subagent's last run has ended, or will never report its end.
 */
export type AgentState = "running" | "delayed" | "waitingForApproval" | "waitingForAgents" | "idle" | "ended";

/** Returns an agent's state, based on its runs and open calls. */
export function stateOf({ agentId, end, isCutOff, runId, calls, step, runningChildren }: AgentView): AgentState {
  if (isCutOff) return "ended";
  if (end !== undefined || (runId === undefined && agentId === MAIN_AGENT))
    return agentId === MAIN_AGENT ? "idle" : "ended";
  if (calls.some(isWaiting)) return "waitingForApproval";
  const open = calls.filter(({ requestedAt }) => requestedAt !== undefined);
  if (open.length > 0) return open.every(({ agents }) => agents !== undefined) ? "waitingForAgents" : "running";
  if (step.kind === "delayed") return "delayed";
  return step.kind === "done" && runningChildren > 0 ? "waitingForAgents" : "running";
}

/** Returns whether a call is waiting for approval. */
export function isWaiting({ approval, result }: CallItem): boolean {
  return approval !== undefined && approval.answer === undefined && result === undefined;
}

/** Calls and usage of all agents in a session. */
export interface SessionTotals {
  readonly agents: number;
  /** Number of agents by state. */
  readonly states: Readonly<Record<AgentState, number>>;
  readonly turns: number;
  readonly toolCalls: number;
  readonly usage: Usage;
  /** Sum of the known costs. */
  readonly costUsd: number;
  /** Whether the cost of every agent is known. */
  readonly isCostKnown: boolean;
  /** Whether the cost of an agent may be lower than its `costUsd`. */
  readonly isCostAtMost: boolean;
}

/**
 * Adds up all agents' calls and usage. Takes time in proportion to the number of agents, so call it only once per
 * frame.
 */
export function totalsOf({ agents }: SessionView): SessionTotals {
  const states = { running: 0, delayed: 0, waitingForApproval: 0, waitingForAgents: 0, idle: 0, ended: 0 };
  const usage = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
  let [turns, toolCalls, costUsd, isCostKnown, isCostAtMost] = [0, 0, 0, true, false];
  for (const agent of elements(agents)) {
    states[stateOf(agent)] += 1;
    turns += agent.turns;
    toolCalls += agent.toolCalls;
    costUsd += agent.costUsd ?? 0;
    isCostKnown &&= agent.costUsd !== undefined;
    isCostAtMost ||= agent.isCostAtMost === true;
    for (const kind of Object.keys(usage) as (keyof typeof usage)[]) usage[kind] += agent.usage[kind];
  }
  return { agents: agents.length, states, turns, toolCalls, usage, costUsd, isCostKnown, isCostAtMost };
}

/** Returns the sum of all kinds of tokens. */
export function tokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}
