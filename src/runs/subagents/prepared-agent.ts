import type { ResolvedAgent } from "../../agents/index.ts";
import type { Hooks, Model, ToolExecutor } from "../../ports/index.ts";
import type {
  AgentBudget,
  DurableEvent,
  ForkOrigin,
  Head,
  KeptWorktree,
  RecordedPolicy,
  RunResult,
  SpawnSpec,
  ToolReport,
} from "../../protocol/index.ts";
import type { ClockLimits } from "../host/clock-limits.ts";
import type { LiveAgent } from "../host/run-host.ts";
import type { RunTerms } from "./subagent.ts";

/** Decides what a subagent is and has for one run. */
export type Prepare = (request: PrepareRequest) => Promise<PreparedAgent | Refusal>;

export interface PrepareRequest {
  readonly spec: SpawnSpec;
  readonly terms: RunTerms;
  readonly parent: LiveAgent;
  /** Set for a fork: head of the conversation that it continues. */
  readonly forkHead?: Head | undefined;
  /** Policy of its last run, if it is resumed. It is not allowed more than it was then. */
  readonly before?: RecordedPolicy | undefined;
  readonly signal: AbortSignal;
}

export interface Refusal {
  readonly ok: false;
  readonly message: string;
}

/** Everything that a run of a subagent needs. */
export interface PreparedAgent {
  readonly ok: true;
  readonly agent: ResolvedAgent;
  readonly model: Model;
  readonly executor: ToolExecutor;
  readonly cwd: string;
  readonly tools: ToolReport;
  readonly budget: AgentBudget;
  readonly limits: ClockLimits;
  /** The definition or the call asks to run it in the background. */
  readonly background: boolean;
  /** Rules that its definition lists, to be approved before it works in the background. */
  readonly grants?: readonly string[] | undefined;
  /** Set if it begins with the messages of its parent: under the same head, or under one of its own. */
  readonly inherits?: ForkOrigin["kind"] | undefined;
  /** Command that its work has to pass. */
  readonly acceptance?: string | undefined;
  readonly notices: readonly string[];
  /** Hooks of this agent; absent: those of the session. */
  readonly hooks?: Hooks | undefined;
  readonly followUp?: ((result: RunResult) => Promise<readonly DurableEvent[]>) | undefined;
  /** Releases what was created for this run alone. Returns the worktree that has to stay. */
  release(): Promise<KeptWorktree | undefined>;
}
