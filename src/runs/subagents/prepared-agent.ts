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
import type { OutputCheck } from "../host/output-check.ts";
import type { LiveAgent } from "../host/run-host.ts";
import type { RunTerms } from "./subagent.ts";

/** Prepares a subagent for one run, or returns a refusal. */
export type Prepare = (request: PrepareRequest) => Promise<PreparedAgent | Refusal>;

export interface PrepareRequest {
  readonly spec: SpawnSpec;
  readonly terms: RunTerms;
  readonly parent: LiveAgent;
  /** Head of the conversation that the agent continues. Set only for a fork. */
  readonly forkHead?: Head | undefined;
  /** Policy of the agent's last run. Set only for a resumed agent, which gets no more permissions than it had then. */
  readonly before?: RecordedPolicy | undefined;
  /** Model that was requested for the agent's last run. A resumed agent keeps it unless the call names another. */
  readonly keptModel?: string | undefined;
  readonly signal: AbortSignal;
  /** Set if the program, rather than the main agent, starts or resumes the agent. */
  readonly by?: SpawnSpec["by"];
}

export interface Refusal {
  readonly ok: false;
  readonly message: string;
}

/** Everything that a subagent's run needs. */
export interface PreparedAgent {
  readonly ok: true;
  readonly agent: ResolvedAgent;
  readonly model: Model;
  readonly executor: ToolExecutor;
  readonly cwd: string;
  readonly tools: ToolReport;
  readonly budget: AgentBudget;
  readonly limits: ClockLimits;
  /** Whether the definition or the call asks to run the agent in the background. */
  readonly background: boolean;
  /** Rules listed in the definition that the user can approve before the agent works in the background. */
  readonly grants?: readonly string[] | undefined;
  /** Set if the agent begins with its parent's messages. `fork`: with the same head. `context`: with its own head. */
  readonly inherits?: ForkOrigin["kind"] | undefined;
  /** Command that must succeed for the work to be accepted. */
  readonly acceptance?: string | undefined;
  /** Form that the report must have. */
  readonly output?: OutputCheck | undefined;
  readonly notices: readonly string[];
  /** This agent's hooks. If absent, the session's hooks apply. */
  readonly hooks?: Hooks | undefined;
  readonly followUp?: ((result: RunResult) => Promise<readonly DurableEvent[]>) | undefined;
  /** Releases the resources that were created for this run only. Returns the worktree if it must be kept. */
  release(): Promise<KeptWorktree | undefined>;
}
