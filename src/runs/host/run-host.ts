import type { ResolvedAgent } from "../../agents/index.ts";
import type { LoopState, QueuedPrompt } from "../../loop/index.ts";
import type {
  Clock,
  EnvironmentFacts,
  Feed,
  HookOutcome,
  Hooks,
  Model,
  Prompt,
  ToolExecutor,
} from "../../ports/index.ts";
import type {
  AcceptanceResult,
  AgentId,
  Changes,
  Decision,
  DurableEvent,
  EventOf,
  FileImage,
  HookFacts,
  PermissionMode,
  Policy,
  PromptId,
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
import type { Caller, SpawnRequest, Subagent, SubagentResult } from "../subagents/subagent.ts";
import type { Thread } from "../thread/thread.ts";
import type { ClockLimits } from "./clock-limits.ts";
import type { RunClocks } from "./clocks.ts";
import type { OutputCheck } from "./output-check.ts";
import type { RunOutlet } from "./run.ts";

export interface RunServices {
  readonly sessionId: SessionId;
  readonly version: string;
  readonly cwd: string;
  readonly model: Model;
  readonly executor: ToolExecutor;
  readonly approvals: ApprovalQueue;
  /** Receives live events. Absent if live events have no readers. */
  readonly feed?: Pick<Feed, "live"> | undefined;
  readonly clock: Clock;
  /** If absent, agents are not given a description of their environment. */
  readonly environment?: EnvironmentFacts | undefined;
  readonly budget: Budget;
  readonly limits: ClockLimits;
  /** Percentage of the context window at which conversations are compacted. If absent, the default applies. */
  readonly compactAtPercent?: number | undefined;
  /** Selects which updates from subagents are emitted. If absent, all updates are emitted. */
  readonly agentUpdates?: AgentUpdates | undefined;
  /** Restores a file that a command changed. Returns the reason if that is not possible. */
  readonly restoreFile?: ((image: FileImage) => Promise<string | undefined>) | undefined;
  /** Absent if there are no hooks. */
  readonly hooks?: Hooks | undefined;
  /** The session's other agents. Absent if the agent can't delegate. */
  readonly retinue?: Retinue;
}

export interface RunRequest {
  readonly runId: RunId;
  readonly agent: ResolvedAgent;
  /** Content of the prompt. Empty to continue without a new prompt. */
  readonly prompt: readonly UserBlock[];
  /** Id of the prompt, if it was queued or sent with an id. */
  readonly promptId?: PromptId | undefined;
  /** Author of the prompt. Defaults to the user for the main agent, and to the parent for a subagent. */
  readonly from?: "person" | "agent" | undefined;
  /** Returns prompts that were queued when an earlier process ended. The agent receives them before the new prompt. */
  readonly leftOver?: (() => readonly QueuedPrompt[]) | undefined;
  /** Called once, before the run's first line, as soon as this agent can start other agents. Never rejects. */
  readonly onEnter?: (() => Promise<void>) | undefined;
  /** If true, the run ends only after all its background agents have ended and the agent has been notified of each. */
  readonly waits?: boolean;
  /** Set if the run begins by entering or leaving plan mode. */
  readonly plan?: PlanSwitch | undefined;
  /** Set for the first run after the session was opened. */
  readonly opens?: "startup" | "resume";
  /** Check that the work must pass before the run ends as done. */
  readonly acceptance?: Acceptance | undefined;
  /** Form that the answer must have. */
  readonly output?: OutputCheck | undefined;
  /**
   * Whether an independent agent verifies work that changed files. `suggest`: Retinue advises the agent to have its
   * work verified. `auto`: Retinue starts the verification automatically.
   */
  readonly verify?: "suggest" | "auto" | undefined;
  /** Set if the user requested a compaction and the run does nothing else. */
  readonly compaction?: { readonly instructions?: string | undefined } | undefined;
  /** Called when the run begins, to apply changes since the last one. Never rejects. */
  readonly refresh?: () => Promise<RefreshedAgent>;
  /** Set for a subagent; absent for the main agent. */
  readonly subagent?: SubagentRun | undefined;
}

/** The user turns plan mode on or off. `afterPlan`: permission mode that follows when a plan has been approved. */
export type PlanSwitch = { readonly kind: "enter"; readonly afterPlan: PermissionMode } | { readonly kind: "leave" };

/** The agent, updated for the next prompt. */
export interface RefreshedAgent {
  /** The updated agent, with the head that a new conversation would have. */
  readonly agent: ResolvedAgent;
  /** Messages that tell the user about the changes. */
  readonly notices: readonly string[];
}

export interface Acceptance {
  /** Commands that must succeed, in the order in which they are run. */
  readonly commands: readonly string[];
  /** Policy that applies to the commands. */
  readonly policy: Policy;
  /** Commands that the user supplied with the run. They need no approval. */
  readonly granted?: readonly string[];
}

/** Options that apply only to subagents' runs. */
export interface SubagentRun {
  readonly spec: SpawnSpec;
  readonly background: boolean;
  /** Ids of the agents from the main agent's child down to this agent. */
  readonly path: readonly AgentId[];
  readonly tools: ToolReport;
  readonly policy: RecordedPolicy;
  /** Notices about differences from the definition or the call. */
  readonly notices: readonly string[];
  /** Receives every update in order. The run's own iterator is not used. */
  readonly onUpdate: (update: RunUpdate) => void;
}

/** An agent with a run in progress, as seen by other agents. */
export interface LiveAgent {
  readonly agentId: AgentId;
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly services: RunServices;
  readonly runId: RunId;
  /** Resolves when the first lines of the run are written, or the run has ended without them. */
  readonly begun: Promise<void>;
  emit(update: RunUpdate): void;
  record(events: readonly DurableEvent[]): Promise<void>;
  /**
   * Runs PreToolUse hooks for a call that is not in the model's response: a tool other than Task that starts an agent
   * runs the hooks for Task. Returns undefined if no hook ran.
   */
  beforeCall(facts: HookFacts["PreToolUse"]): Promise<HookOutcome | undefined>;
  /** Called when the budget allows no more subagents. The run continues, but ends as incomplete. */
  refuseSpawn(refusal: BudgetRefusal): Promise<void>;
  /** Returns whether the agent is waiting for a slot. */
  isQueued(): boolean;
  /**
   * Adds a message to the agent's next request, after a text from Retinue about the message, if there is one. Returns
   * false if the run has ended.
   */
  tell(message: Message, about?: string): Promise<boolean>;
  /** Makes the agent continue without waiting for a background run. Returns false if it is not waiting for that run. */
  endWait(run: RunRef): Promise<boolean>;
  /**
   * Pauses the agent's clocks and lends its slot while it waits for other agents. The returned function ends the pause
   * and takes the slot back.
   */
  yield(): (signal: AbortSignal) => Promise<void>;
}

/** A message to an agent with a run in progress. */
export type Message = Pick<EventOf<"prompt.received">, "content" | "from" | "promptId">;

/** Access to the session's other agents for a run. */
export interface Retinue {
  readonly registry: RunRegistry;
  /** Starts a background agent without a tool call and waits for it. Stops the agent if the signal fires. */
  delegate(request: SpawnRequest, caller: Caller): Promise<SubagentResult | { readonly message: string }>;
  /** Returns the agent types that a prompt can mention, including those that rules deny. */
  mentionable(): readonly string[];
  /** Starts a subagent of the main agent without a call. */
  startWithoutCall(
    by: "person",
    request: SpawnRequest,
    signal: AbortSignal,
  ): Promise<Subagent | { readonly status: "refused"; readonly message: string }>;
  /**
   * Continues the background agents that an agent is waiting for and whose runs were lost with their process. Returns
   * messages about agents that can't continue.
   */
  continueAwaited(state: LoopState): Promise<readonly string[]>;
  /** Returns an agent's current policy. Plan mode and running in the background remove permissions. */
  policyOf(agent: AgentId, policy: Policy): Policy;
  /** Permission mode that follows plan mode when a plan has been approved. */
  readonly afterPlan: PermissionMode;
  /** Called with each decision by rules and mode. */
  judged(decision: Decision, policy: Policy): void;
}

/** The part of the registry that a run uses. */
export interface RunRegistry {
  enter(agent: LiveAgent): void;
  leave(agentId: AgentId): void;
  /** Returns the results of the given runs that have ended. */
  ended(runs: readonly RunRef[]): Promise<readonly SubagentResult[]>;
  /** Resolves when one of the runs has ended or the signal fires. */
  oneEnded(runs: readonly RunRef[], signal: AbortSignal): Promise<void>;
  /** Returns what background runs have changed so far, including the agents below them. */
  changesSoFar(runs: readonly RunRef[]): readonly Changes[];
  /** Ends the given runs that are still active, because their time is up. */
  cut(runs: readonly RunRef[]): Promise<void>;
  /** Lists an agent's subagents, including those whose end has not been reported to it. */
  roster(agentId: AgentId, untold: readonly RunRef[]): Promise<string>;
  /**
   * Moves a run to the background, so that its caller stops waiting for it. Returns false if no caller is waiting for
   * it.
   */
  detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean>;
  /** Returns whether the agent or one of its ancestors runs in the background. */
  isInBackground(agentId: AgentId): boolean;
}

/** An active run, as used by the functions that perform it. */
export interface RunHost {
  readonly services: RunServices;
  readonly thread: Thread;
  /** The run's request. Its agent has the head of its conversation. */
  readonly request: RunRequest;
  /** The agent with the head that a new conversation would have. */
  readonly fresh: ResolvedAgent;
  readonly outlet: RunOutlet;
  readonly clocks: RunClocks;
  /** Time on the monotonic clock at which the run started. */
  readonly startedAt: number;
  /** The last request before the head or the conversation was replaced. The next request is compared with it. */
  before: Prompt | undefined;
  /** Result of the last acceptance check. */
  acceptance: AcceptanceResult | undefined;
  /** Number of times the agent was asked to correct the form of its answer. */
  corrections?: number;
  /** Set if SubagentStart hooks ran for this run. */
  startHooksRan?: true;
  /** Set if the agent was advised to have its work verified, or was told a verifier's findings. */
  isToldToVerify?: true;
  /** Time the run has waited for background agents so far. */
  waitedMs?: number;
  /** Number of times a Stop hook made the run continue. */
  continuations?: number;
  /** Set if a hook rejected the prompt, so that the run did nothing. */
  isRejected?: true;
  /** Turn after which the Stop hooks allowed the run to end. */
  stopHooksTurn?: number;
  /** Set if the budget refused to start a subagent. */
  spawnRefusal: BudgetRefusal | undefined;
  /** Set if a time limit in the budget was reached during the run. The run is then stopped. */
  timeRefusal: BudgetRefusal | undefined;
  /**
   * Pauses the run's clocks and the budget's time while the run waits for a user or for other agents. The returned
   * function resumes them.
   */
  pause(): () => void;
  /** Like `pause`, but also lends the agent's slot. */
  yield(): (signal: AbortSignal) => Promise<void>;
  /** Resolves when the next message to the agent, or the end of a wait, is recorded. */
  nextInterruption(): Promise<void>;
  /** Continues without waiting for a run. Returns false if the agent is not waiting for it. */
  endWait(run: RunRef): Promise<boolean>;
  /**
   * Updates the agent, and lets it continue with the head of its conversation. Returns messages for the user about
   * changes.
   */
  refresh(): Promise<readonly string[]>;
  /** Lets the agent continue with the head that a new conversation would have. */
  renewHead(): void;
  record(events: readonly DurableEvent[]): Promise<void>;
  /**
   * Records the events if `allows` returns true when it is their turn to be written. Returns false if nothing was
   * recorded.
   */
  recordIf(allows: (state: LoopState) => boolean, events: readonly DurableEvent[]): Promise<boolean>;
}
