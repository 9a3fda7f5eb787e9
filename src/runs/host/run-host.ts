import type { ResolvedAgent } from "../../agents/index.ts";
import type { LoopState } from "../../loop/index.ts";
import type { Clock, Hooks, Model, Prompt, ToolExecutor } from "../../ports/index.ts";
import type {
  AcceptanceResult,
  AgentId,
  CallId,
  DurableEvent,
  Notice,
  Policy,
  RecordedPolicy,
  RunId,
  RunUpdate,
  SessionId,
  SpawnSpec,
  ToolReport,
  UserBlock,
} from "../../protocol/index.ts";
import type { ApprovalQueue } from "../approvals/approval-queue.ts";
import type { Budget, BudgetRefusal } from "../budget/budget.ts";
import type { AgentUpdates } from "../subagents/agent-updates.ts";
import type { SubagentResult } from "../subagents/subagent.ts";
import type { Thread } from "../thread/thread.ts";
import type { ClockLimits } from "./clock-limits.ts";
import type { RunClocks } from "./clocks.ts";
import type { RunOutlet } from "./run.ts";

export interface RunServices {
  readonly sessionId: SessionId;
  readonly version: string;
  readonly cwd: string;
  readonly model: Model;
  readonly executor: ToolExecutor;
  readonly approvals: ApprovalQueue;
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
  readonly acceptance?: Acceptance | undefined;
  /** Whether somebody else tries to break work that changed files: it is told that this is possible, or it happens. */
  readonly verify?: "suggest" | "auto" | undefined;
  /** What has changed around the agent since its last prompt, in words for it. Never rejects. */
  readonly news?: () => Promise<string | undefined>;
  /** Absent for the main agent. */
  readonly subagent?: SubagentRun | undefined;
}

export interface Acceptance {
  /** All of them, in this order. */
  readonly commands: readonly string[];
  /** What they may do. */
  readonly policy: Policy;
  /** Those that a person gave with the run: nobody is asked about them once more. */
  readonly granted?: readonly string[];
}

/** What a run of a subagent has that a run of the main agent has not. */
export interface SubagentRun {
  readonly spec: SpawnSpec;
  readonly background: boolean;
  /** Ids from the main agent's child down to this agent. */
  readonly path: readonly AgentId[];
  readonly tools: ToolReport;
  readonly policy: RecordedPolicy;
  /** What differs from what its definition or its call asks for. */
  readonly notices: readonly string[];
  /** Receives every update in order, instead of an iterator of the run. */
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

/** What a run needs of the other agents of its session. */
export interface Retinue {
  readonly registry: RunRegistry;
  /** Gives work to a background agent that no call asked for, and waits for it. It is stopped when the signal fires. */
  entrust(work: EntrustedWork, signal: AbortSignal): Promise<SubagentResult | { readonly message: string }>;
  /** The policy of an agent as it is now: plan mode and the background take permissions away. */
  policyOf(agent: AgentId, policy: Policy): Policy;
}

/** The agents of a session, as far as a run needs to know them. */
export interface RunRegistry {
  enter(agent: LiveAgent): void;
  leave(agentId: AgentId): void;
  /** Results of those of the runs that have ended. */
  ended(runs: readonly Notice[]): Promise<readonly SubagentResult[]>;
  /** Resolves when one of the runs has ended, or the signal fires. */
  oneEnded(runs: readonly Notice[], signal: AbortSignal): Promise<void>;
  /** Ends those of the runs that are under way because their time is up. */
  cut(runs: readonly Notice[]): Promise<void>;
  /** The subagents of an agent in words, with those whose end it was not told of. */
  roster(agentId: AgentId, untold: readonly Notice[]): Promise<string>;
  /** Moves a run to the background: its caller stops waiting for it. Returns false if no one waits for it. */
  detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean>;
  /** True if no one waits for the agent, or for one that it works for. */
  isInBackground(agentId: AgentId): boolean;
}

/** Work that the host gives to a subagent on behalf of another agent. */
export interface EntrustedWork {
  readonly for: AgentId;
  /** Takes the place of the id of a call. */
  readonly callId: CallId;
  readonly agentType: string;
  readonly description: string;
  readonly prompt: string;
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
