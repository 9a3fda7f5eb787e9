import type { ResolvedAgent } from "../../agents/index.ts";
import type { LoopState } from "../../loop/index.ts";
import type { Clock, EnvironmentFacts, Hooks, Model, Prompt, ToolExecutor } from "../../ports/index.ts";
import type {
  AcceptanceResult,
  AgentId,
  DurableEvent,
  Policy,
  RecordedPolicy,
  RunId,
  RunRef,
  RunUpdate,
  SessionId,
  SpawnSpec,
  ToolReport,
  UserBlock,
} from "../../protocol/index.ts";
import type { ApprovalQueue } from "../approvals/approval-queue.ts";
import type { Budget, BudgetRefusal } from "../budget/budget.ts";
import type { AgentUpdates } from "../subagents/agent-output.ts";
import type { Caller, SpawnRequest, SubagentResult } from "../subagents/subagent.ts";
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
  /** Absent: agents are told nothing about their environment. */
  readonly environment?: EnvironmentFacts | undefined;
  readonly budget: Budget;
  readonly limits: ClockLimits;
  /** Percentage of the context window at which conversations are compacted; absent: the default. */
  readonly compactAtPercent?: number | undefined;
  /** Selects which updates of agents are emitted; absent: all. */
  readonly agentUpdates?: AgentUpdates | undefined;
  /** Absent if there are no hooks. */
  readonly hooks?: Hooks | undefined;
  /** The session's subagents; absent if the agent can't delegate. */
  readonly retinue?: Retinue;
}

export interface RunRequest {
  readonly runId: RunId;
  readonly agent: ResolvedAgent;
  /** Empty to continue without a new prompt. */
  readonly prompt: readonly UserBlock[];
  /** The run ends only after its background agents, and after the agent was notified of each. */
  readonly waits?: boolean;
  /** The run begins by entering or leaving plan mode. */
  readonly plan?: "enter" | "leave";
  /** Set for the first run after the session was opened. */
  readonly opens?: "startup" | "resume";
  /** Check that the work must pass before the run ends as done. */
  readonly acceptance?: Acceptance | undefined;
  /** Whether an independent agent verifies work that changed files: suggested to the agent, or done automatically. */
  readonly verify?: "suggest" | "auto" | undefined;
  /** Called before a prompt, to apply what changed since the last one. Never rejects. */
  readonly refresh?: () => Promise<RefreshedAgent>;
  /** Absent for the main agent. */
  readonly subagent?: SubagentRun | undefined;
}

/** The agent as it is for the next prompt. */
export interface RefreshedAgent {
  /** Its head may have changed, which costs one cache miss. */
  readonly agent: ResolvedAgent;
  /** Text for the agent about the changes. */
  readonly news?: string | undefined;
  /** Messages for the user about the changes. */
  readonly notices: readonly string[];
}

export interface Acceptance {
  /** Commands that must succeed, in this order. */
  readonly commands: readonly string[];
  /** Policy for the commands. */
  readonly policy: Policy;
  /** Commands that the user passed with the run. They need no approval. */
  readonly granted?: readonly string[];
}

/** Additional parts of a subagent's run. */
export interface SubagentRun {
  readonly spec: SpawnSpec;
  readonly background: boolean;
  /** Ids from the main agent's child down to this agent. */
  readonly path: readonly AgentId[];
  readonly tools: ToolReport;
  readonly policy: RecordedPolicy;
  /** Notices about what differs from the definition or the call. */
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
  /** Called when the budget allows no more subagents. The run continues, and ends as incomplete. */
  refuseSpawn(refusal: BudgetRefusal): Promise<void>;
  /** Returns whether it waits for a slot. */
  isQueued(): boolean;
  /** Adds a message to its next request. Returns false if its run has ended. */
  tell(text: string): Promise<boolean>;
  /** Stops its clocks and frees its slot while it waits for other agents. Call the result to end that. */
  yield(): (signal: AbortSignal) => Promise<void>;
}

/** What a run needs of the other agents of its session. */
export interface Retinue {
  readonly registry: RunRegistry;
  /** Starts a background agent that no tool call asked for, and waits for it. Stops it if the signal fires. */
  delegate(request: SpawnRequest, caller: Caller): Promise<SubagentResult | { readonly message: string }>;
  /** Returns the policy of an agent as it is now: plan mode and the background take permissions away. */
  policyOf(agent: AgentId, policy: Policy): Policy;
}

/** The agents of a session, as far as a run needs to know them. */
export interface RunRegistry {
  enter(agent: LiveAgent): void;
  leave(agentId: AgentId): void;
  /** Returns the results of the runs that have ended. */
  ended(runs: readonly RunRef[]): Promise<readonly SubagentResult[]>;
  /** Resolves when one of the runs has ended, or the signal fires. */
  oneEnded(runs: readonly RunRef[], signal: AbortSignal): Promise<void>;
  /** Ends the active ones of the runs because their time is up. */
  cut(runs: readonly RunRef[]): Promise<void>;
  /** Describes the subagents of an agent, including those whose end it has not seen yet. */
  roster(agentId: AgentId, untold: readonly RunRef[]): Promise<string>;
  /** Moves a run to the background: its caller stops waiting for it. Returns false if no one waits for it. */
  detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean>;
  /** True if no one waits for the agent, or for one that it works for. */
  isInBackground(agentId: AgentId): boolean;
}

/** An active run, for the functions that perform it. */
export interface RunHost {
  readonly services: RunServices;
  readonly thread: Thread;
  readonly request: RunRequest;
  readonly outlet: RunOutlet;
  readonly clocks: RunClocks;
  /** Start on the monotonic clock. */
  readonly startedAt: number;
  /** The last request before the head or the conversation was replaced. The next request is compared with it. */
  before: Prompt | undefined;
  /** Result of the last acceptance check. */
  acceptance: AcceptanceResult | undefined;
  /** SubagentStart hooks ran for this run. */
  startHooksRan?: true;
  /** Number of calls at the last verification, or when verification was last suggested. */
  verification?: { readonly calls: number; readonly result?: AcceptanceResult };
  /** Time the run has waited for background agents so far. */
  waitedMs?: number;
  /** Number of times a Stop hook made the run continue. */
  continuations?: number;
  /** A hook rejected the prompt, so the run did nothing. */
  isRejected?: true;
  /** Turn after which Stop hooks let the run end. */
  stopHooksTurn?: number;
  /** Set when the budget refused to start a subagent. */
  spawnRefusal: BudgetRefusal | undefined;
  /** Set when the budget's time is up while the run works; the run is stopped. */
  timeRefusal: BudgetRefusal | undefined;
  /** Stops the run's clocks and the budget's time while it waits for a user or for other agents. Call the result to resume them. */
  pause(): () => void;
  /** Like `pause`, and also frees the agent's slot. */
  yield(): (signal: AbortSignal) => Promise<void>;
  /** Replaces the agent by what it is for this prompt. Returns undefined if nothing can have changed. */
  refresh(): Promise<RefreshedAgent | undefined>;
  record(events: readonly DurableEvent[]): Promise<void>;
  /** Records the events if the state allows it at the time of writing. Returns false if nothing was recorded. */
  recordIf(allows: (state: LoopState) => boolean, events: readonly DurableEvent[]): Promise<boolean>;
}
