import type { ResolvedAgent } from "../../agents/index.ts";
import type { LoopState } from "../../loop/index.ts";
import type { Clock, Hands, Hooks, Model, Prompt } from "../../ports/index.ts";
import type {
  AcceptanceResult,
  AgentId,
  CallId,
  DurableEvent,
  EventOf,
  KeptWorktree,
  Notice,
  Policy,
  RecordedPolicy,
  RunEnd,
  RunId,
  RunUpdate,
  SessionId,
  ToolReport,
  UserBlock,
} from "../../protocol/index.ts";
import type { ApprovalDesk } from "../approvals/approval-queue.ts";
import type { Budget, BudgetRefusal } from "../budget/budget.ts";
import type { AgentUpdates } from "../subagents/agent-updates.ts";
import type { Thread } from "../thread/thread.ts";
import type { ClockLimits } from "./clock-limits.ts";
import type { RunClocks } from "./clocks.ts";
import type { RunOutlet } from "./run.ts";

export interface RunServices {
  readonly sessionId: SessionId;
  readonly version: string;
  readonly cwd: string;
  readonly model: Model;
  readonly hands: Hands;
  readonly approvals: ApprovalDesk;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly limits: ClockLimits;
  /** The share of the window at which conversations are compacted; absent: the usual. */
  readonly compactAtPercent?: number | undefined;
  /** What is told of agents; absent: all. */
  readonly agentUpdates?: AgentUpdates | undefined;
  /** Who wants to be asked or told; absent where nobody does. */
  readonly hooks?: Hooks | undefined;
  /** The session's agents; absent where nobody can be delegated to. */
  readonly retinue?: Retinue;
}

export interface RunRequest {
  readonly runId: RunId;
  readonly agent: ResolvedAgent;
  /** Empty: go on with what is there. */
  readonly prompt: readonly UserBlock[];
  /** It ends only after its background agents, told of each. */
  readonly waits?: boolean;
  /** It begins by going into plan mode, or out of it. */
  readonly plan?: "enter" | "leave";
  /** The first run since the session was opened. */
  readonly opens?: "startup" | "resume";
  /** What its work has to stand before it ends as done. */
  readonly acceptance?: Acceptance;
  /** Whether somebody else tries to break work that changed files: it is told that this is possible, or it happens. */
  readonly verify?: "suggest" | "auto";
  /** What has changed around the agent since its last prompt, in words for it. Never rejects. */
  readonly news?: () => Promise<string | undefined>;
  /** Absent for the main agent. */
  readonly subagent?: SubagentRequest;
}

export interface Acceptance {
  /** All of them, in this order. */
  readonly commands: readonly string[];
  /** What they may do. */
  readonly policy: Policy;
  /** Those that a person gave with the run: nobody is asked about them once more. */
  readonly granted?: readonly string[];
}

export interface SubagentRequest {
  readonly birth: Omit<EventOf<"agent.created">, "type" | "sessionId" | "cwd" | "version" | "serializer">;
  readonly background: boolean;
  /** From the main agent's child down to this one. */
  readonly path: readonly AgentId[];
  readonly tools: ToolReport;
  readonly policy: RecordedPolicy;
  /** What is not as its definition or its call wants it. */
  readonly notices: readonly string[];
  /** Hears everything, in order, instead of who would iterate the run. */
  readonly onUpdate: (update: RunUpdate) => void;
}

/** An agent with a run under way, as other agents reach it. */
export interface LiveAgent {
  readonly agentId: AgentId;
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly services: RunServices;
  readonly runId: RunId;
  emit(update: RunUpdate): void;
  record(events: readonly DurableEvent[]): Promise<void>;
  /** The budget lets it start no more agents: its run goes on, and is not done when it ends. */
  refuseSpawn(refusal: BudgetRefusal): Promise<void>;
  /** It waits for a place among those that may work at once. */
  isQueued(): boolean;
  /** Words it reads at its next request. False: its run has ended, and nothing was recorded. */
  tell(text: string): Promise<boolean>;
  /** While it waits for others its clocks stand still and its place is free. The result ends that. */
  yield(): (signal: AbortSignal) => Promise<void>;
}

/** What a run needs of the agents around it. */
export interface Retinue {
  enter(agent: LiveAgent): void;
  leave(agentId: AgentId): void;
  /** Has a background agent do what no call asked for, and waits for its end; it is stopped when the signal fires. */
  entrust(work: Entrusted, signal: AbortSignal): Promise<EndedRun | { readonly message: string }>;
  /** Those of the runs that have ended, with how; empty when none has. */
  ended(runs: readonly Notice[]): Promise<readonly EndedRun[]>;
  /** Resolves when one of them has ended, or the signal fires. */
  oneEnded(runs: readonly Notice[], signal: AbortSignal): Promise<void>;
  /** Ends those of the runs that are still under way, for want of time; resolves when they have. */
  cut(runs: readonly Notice[]): Promise<void>;
  /** The agents this one has, in words, with those whose end it was not told of. */
  roster(agentId: AgentId, untold: readonly Notice[]): Promise<string>;
  /** Whoever waits for it stops waiting; it goes on. False: nobody does. */
  detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean>;
  /** Nobody waits for it, or for one it works for. */
  isBehind(agentId: AgentId): boolean;
  /** As it is now: moving an agent to the background takes tools away. */
  policyOf(agent: AgentId, policy: Policy): Policy;
}

/** What the host wants of an agent, on behalf of another. */
export interface Entrusted {
  readonly for: AgentId;
  /** Stands where the id of a call would. */
  readonly callId: CallId;
  readonly agentType: string;
  readonly description: string;
  readonly prompt: string;
}

export interface EndedRun {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly description: string;
  readonly outputFile?: string;
  /** Where its changes are, if it made any in a copy of its own. */
  readonly worktree?: KeptWorktree;
  /** Whether its work stood the check that was asked for. */
  readonly acceptance?: AcceptanceResult;
  readonly end: RunEnd;
}

/** One run under way, as the parts that perform it know it. */
export interface RunHost {
  readonly services: RunServices;
  readonly thread: Thread;
  readonly request: RunRequest;
  readonly outlet: RunOutlet;
  readonly clocks: RunClocks;
  /** On the monotonic clock. */
  readonly startedAt: number;
  /** The last request before the head or the conversation was replaced, until the next one shows what that cost. */
  before: Prompt | undefined;
  /** Of the newest check of its work. */
  acceptance: AcceptanceResult | undefined;
  /** Hooks were told of its beginning. */
  isTold?: true;
  /** How many calls it had made when its work was verified last, or when it was told that it could be. */
  verification?: { readonly calls: number; readonly result?: AcceptanceResult };
  /** How long it has waited for agents in the background. */
  waitedMs?: number;
  /** How often a Stop hook wanted more of it. */
  keptGoing?: number;
  /** An agent it wanted to start and may not. */
  spawnRefusal: BudgetRefusal | undefined;
  /** Set when the budget's time is up while the run works; the run is stopped. */
  timeRefusal: BudgetRefusal | undefined;
  /** Stops the run's clocks and the budget's time while it waits for a person or for other agents, until the result is called. */
  pause(): () => void;
  /** Like `pause`, and frees the agent's place meanwhile. */
  yield(): (signal: AbortSignal) => Promise<void>;
  record(events: readonly DurableEvent[]): Promise<void>;
  /** False, and nothing recorded, when the state does not allow it once its turn to be written has come. */
  recordIf(allows: (state: LoopState) => boolean, events: readonly DurableEvent[]): Promise<boolean>;
}
