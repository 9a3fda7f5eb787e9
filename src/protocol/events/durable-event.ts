import type { AgentColor } from "../agents/definition.ts";
import type { ToldEnvironment } from "../agents/environment.ts";
import type { ForkOrigin } from "../agents/fork.ts";
import type { HookEvent, HookRecord } from "../hooks/hook.ts";
import type { AgentId, CallId, LineId, PromptId, RunId, SessionId } from "../ids.ts";
import type { JsonSchema } from "../json.ts";
import type { AssistantBlock, AssistantMessage, OpaqueBlock, UserBlock } from "../model/message.ts";
import type { InputTransformation, ModelError, StopReason } from "../model/model-outcome.ts";
import type { Prices, ReservedSpend, Usage } from "../model/usage.ts";
import type { AlwaysAnswer } from "../permissions/approval.ts";
import type { Decision, PermissionMode, RecordedPolicy } from "../permissions/permission.ts";
import type { UserReply } from "../permissions/user-question.ts";
import type { ToolReport, ToolResult } from "../tools/tool.ts";
import type { AcceptanceResult, EndedNotice, RunEnd } from "./outcome.ts";

/** An event in a transcript: journaled, numbered and replayable. */
export type DurableEvent =
  | {
      readonly type: "session.created";
      readonly sessionId: SessionId;
      readonly cwd: string;
      readonly version: string;
      /** Version of the serializer that produced the conversation's bytes. */
      readonly serializer: number;
    }
  /** First line of a subagent's transcript. */
  | ({
      readonly type: "agent.created";
      readonly sessionId: SessionId;
      readonly cwd: string;
      readonly version: string;
      readonly serializer: number;
      /** Absent in transcripts of earlier versions. */
      readonly metadata?: ChildMetadata | undefined;
    } & SpawnSpec)
  /**
   * Written to the parent's transcript before the child exists. After a crash, the call continues from the child's
   * state.
   */
  | {
      readonly type: "agent.spawned";
      readonly callId: CallId;
      readonly agentId: AgentId;
      readonly agentType: string;
      readonly description: string;
      /** Set if the child continues this conversation or was given it as context. */
      readonly status?: "sub_agent_entered" | undefined;
      /** Set if the program or the user started the agent. In that case, no call has this `callId`. */
      readonly by?: StarterWithoutCall | undefined;
      /** Id of the agent's first run, if the user started the agent. Its end is reported to the main agent. */
      readonly runId?: RunId | undefined;
    }
  /**
   * Written to the caller's transcript before it resumes an existing agent. After a crash, the call continues from that
   * agent's state.
   */
  | {
      readonly type: "agent.resumed";
      /** Call that resumes the agent. Absent if the agent is resumed without a call and works in the background. */
      readonly callId?: CallId | undefined;
      readonly agentId: AgentId;
      /** Id of the run that is about to start. */
      readonly runId: RunId;
      /** Cause, if the agent is resumed without a call. */
      readonly by?: ResumeCause | undefined;
      /** Prompt that the agent is resumed with, if it has an id. */
      readonly promptId?: PromptId | undefined;
      /** Set if the previous run was cut off, so that only the end of this run is reported to the parent. */
      readonly replaces?: true | undefined;
      /** Set if the end of the run is not reported to the parent, because the program started the agent. */
      readonly reportsTo?: "program" | undefined;
    }
  | {
      readonly type: "run.started";
      readonly runId: RunId;
      readonly agentId: AgentId;
      readonly agentType: string;
      readonly kind: "fresh" | "resume" | "fork";
      readonly requestedModel: string | null;
      readonly provider: string;
      readonly model: string;
      /** The setting, flag or default that chose the model. */
      readonly modelReason: string;
      readonly permissionMode: PermissionMode;
      readonly maxTurns: number;
      /**
       * Set if the run continues runs that were lost with their process or parked. `turns`: how many of their turns count
       * towards `maxTurns`. For a subagent, all of them count, because they belong to the same call.
       */
      readonly continues?: { readonly turns: number } | undefined;
      /** Command that must succeed for a subagent's work to be accepted. */
      readonly acceptance?: string | undefined;
      /** JSON Schema of a subagent's report. */
      readonly outputSchema?: JsonSchema | undefined;
      /** Set if work that changes files must be verified before the run succeeds. */
      readonly verifies?: true | undefined;
      /** Prices of the model when the run started. Absent if unknown. */
      readonly prices?: Prices | undefined;
      /** Size of the model's context window in tokens. Absent in transcripts of earlier versions. */
      readonly window?: number | undefined;
      /** Number of tokens below which the provider cached nothing when the run started. Absent if unknown. */
      readonly cacheMinimumTokens?: number | undefined;
      /** Set if no call waits for the run. The parent gets a notice when the run ends. */
      readonly background?: true | undefined;
      /** Set if the run waits for its background agents before it ends. */
      readonly waits?: true | undefined;
      /** Tools that a subagent's definition requested, and tools that the subagent got. */
      readonly tools?: ToolReport | undefined;
      /** Color of the agent's definition. */
      readonly color?: AgentColor | undefined;
      /** Policy of a subagent. A resumed subagent gets no more permissions than this policy grants. */
      readonly policy?: RecordedPolicy | undefined;
    }
  /** The run was moved to the background, so no call waits for it any longer. */
  | { readonly type: "run.backgrounded"; readonly runId: RunId; readonly cause: "person" | "timeout" }
  /** Written to the parent's transcript. The parent waits for this background run before its next request. */
  | { readonly type: "run.awaited"; readonly agentId: AgentId; readonly runId: RunId }
  /** Written to the parent's transcript. The parent no longer waits for this background run, which continues. */
  | { readonly type: "wait.ended"; readonly agentId: AgentId; readonly runId: RunId }
  /** The next request has to wait for the budget or the provider's rate limit, until `run.continued` or the run's end. */
  | { readonly type: "run.delayed"; readonly by: "budget" | "rateLimit" }
  | { readonly type: "run.continued" }
  /**
   * The agent and all agents below it are read-only until plan mode is left. `afterPlan`: permission mode that applies once
   * the user has approved a plan.
   */
  | { readonly type: "plan.entered"; readonly by: PlanChange; readonly afterPlan?: PermissionMode | undefined }
  /** `mode`: permission mode that applies from here on. Absent if a line that follows contains it. */
  | { readonly type: "plan.left"; readonly by: PlanChange; readonly mode?: PermissionMode | undefined }
  /**
   * The user rewound the conversation to the point before the run with this `run.started` line. Later lines stay in the
   * transcript. `restored` lists the real paths of the files whose contents were restored.
   */
  | { readonly type: "conversation.rewound"; readonly line: LineId; readonly restored?: readonly string[] | undefined }
  /**
   * From this line on, the conversation contains none of the thinking that precedes the line, because the provider
   * refused it or because something before it may have changed.
   */
  | {
      readonly type: "thinking.dropped";
      /** Turn whose request is sent again without thinking. */
      readonly resends?: number | undefined;
      /** Version of the serializer that produces the conversation's bytes from here on. */
      readonly serializer: number;
    }
  /**
   * The main agent's permission mode changed, because the user changed it or approved a plan. Its subagents never have a
   * more permissive mode.
   */
  | { readonly type: "mode.changed"; readonly mode: PermissionMode }
  | {
      readonly type: "head.set";
      readonly hash: string;
      /** Why the head differs from the previous one. Absent in older transcripts. */
      readonly reason?: HeadReason | undefined;
      /** Fingerprint of each dimension of the cache key that the head contains. */
      readonly dimensions?: Readonly<Record<Exclude<CacheDimension, "messages">, string>> | undefined;
    }
  /** A prompt that waits in the queue until the agent receives it. Queueing the same id again replaces the content. */
  | { readonly type: "prompt.queued"; readonly promptId: PromptId; readonly content: readonly UserBlock[] }
  | { readonly type: "prompt.withdrawn"; readonly promptId: PromptId }
  /** A prompt for the agent. */
  | {
      readonly type: "prompt.received";
      readonly content: readonly UserBlock[];
      readonly from: "person" | "agent";
      /** Set if the prompt was queued or sent with an id. A prompt with the same id is received only once. */
      readonly promptId?: PromptId | undefined;
    }
  /** Text that the runtime adds to the next user turn, such as a warning. */
  | {
      readonly type: "context.added";
      readonly text: string;
      readonly cause: ContextCause;
      /** Environment as described to the agent, up to and including this line. */
      readonly environment?: ToldEnvironment | undefined;
      /**
       * Hash of a head. The agent now knows how this head, which a new conversation would have had at this point,
       * differs from the head of its conversation.
       */
      readonly head?: string | undefined;
    }
  /** Notices of background runs that have ended. Recording them ensures that each is delivered exactly once. */
  | { readonly type: "notices.delivered"; readonly notices: readonly EndedNotice[]; readonly text: string }
  /** Seals the user turn: every line before this one is part of the request. */
  | { readonly type: "model.requested"; readonly turn: number; readonly reserved?: ReservedSpend | undefined }
  /** Precedes a request that has no `model.requested`: a compaction, or a tool call that uses a model. */
  | { readonly type: "spend.reserved"; readonly request: CallId | "compaction"; readonly reserved: ReservedSpend }
  /**
   * Cost of requests that have no line: an interrupted compaction, or requests in progress when the process was lost.
   */
  | {
      readonly type: "spend.recorded";
      readonly usage: Usage;
      readonly costUsd?: number | undefined;
      readonly estimated?: true | undefined;
    }
  | {
      readonly type: "model.retried";
      readonly turn: number;
      readonly retry: ModelRetry;
      /** Usage of the attempt that failed. Absent if the attempt used no tokens. */
      readonly usage?: Usage | undefined;
      readonly costUsd?: number | undefined;
    }
  | {
      readonly type: "model.ended";
      readonly turn: number;
      readonly message: AssistantMessage;
      readonly stopReason: StopReason;
      /**
       * Number of calls that the model began but did not finish. They are not part of any message and are never run.
       */
      readonly incompleteCalls: number;
      readonly usage: Usage;
      /** Usage of attempts that failed midway. Its cost is included in `costUsd`. */
      readonly lostUsage?: Usage | undefined;
      /** What the provider changed in the request, if it says so. */
      readonly inputTransformations?: readonly InputTransformation[] | undefined;
      readonly costUsd?: number | undefined;
      readonly milliseconds: number;
      /** Fingerprint of the messages as they were sent. The messages are the fifth dimension of the cache key. */
      readonly fingerprint?: string | undefined;
    }
  | {
      readonly type: "model.failed";
      readonly turn: number;
      readonly error: ModelError;
      /** Blocks that were received completely. Never contains a tool call. */
      readonly partial: readonly AssistantBlock[];
      readonly usage?: Usage | undefined;
      readonly costUsd?: number | undefined;
      readonly milliseconds: number;
      readonly fingerprint?: string | undefined;
    }
  | {
      readonly type: "tool.requested";
      readonly callId: CallId;
      readonly name: string;
      readonly decision?: RecordedDecision | undefined;
      /** Set if the call is proven to be read-only. */
      readonly readsOnly?: true | undefined;
    }
  | {
      readonly type: "approval.requested";
      readonly requestId: string;
      readonly callId: CallId;
      readonly name: string;
      readonly inputJson: string;
      readonly reason: string;
      /** Rules that an "always" answer can add. If absent, the call can only be allowed once. */
      readonly always?: readonly string[] | undefined;
      /** Set if no one can answer, so that the request is denied at once. */
      readonly attended?: false | undefined;
    }
  | {
      readonly type: "approval.answered";
      readonly requestId: string;
      readonly callId: CallId;
      readonly answer: "allow" | "deny";
      readonly by: string;
      readonly message?: string | undefined;
      /** New input for the call, if the approver changed it. */
      readonly inputJson?: string | undefined;
      readonly always?: AlwaysAnswer | undefined;
      /** Replies to the questions that the call asks. */
      readonly replies?: readonly UserReply[] | undefined;
    }
  /** The call is about to run. From this line on, it may have taken effect. */
  | {
      readonly type: "tool.started";
      readonly callId: CallId;
      /** Set if the call can be repeated after a crash to continue what it began. */
      readonly resumable?: true | undefined;
    }
  | {
      readonly type: "tool.ended";
      readonly callId: CallId;
      readonly name: string;
      readonly result: ToolResult;
      readonly milliseconds: number;
    }
  /**
   * Starts a new chain, which consists of the summary and the last `kept` messages without their thinking. With
   * `provided`, it begins with that block instead, and the thinking is kept. If no message is kept, calls whose results
   * have not been sent are told as text in the next user turn.
   */
  | {
      readonly type: "conversation.compacted";
      readonly summary: string;
      /** Set if the provider wrote the summary: its block, and Retinue's record, which the next user turn contains. */
      readonly provided?: { readonly block: OpaqueBlock; readonly record: string } | undefined;
      readonly kept: number;
      readonly trigger: "auto" | "manual";
      /** Estimated tokens in the next request before compaction. */
      readonly before?: number | undefined;
      /** Estimated tokens in the next request after compaction. */
      readonly after?: number | undefined;
      /** Usage of the request for the summary. Absent if no summary was requested from the model. */
      readonly usage?: Usage | undefined;
      readonly costUsd?: number | undefined;
      readonly milliseconds?: number | undefined;
    }
  | {
      readonly type: "cache.missed";
      readonly dimension: CacheDimension;
      readonly firstDifference: number;
      readonly turn: number;
    }
  | { readonly type: "notice.raised"; readonly code: string; readonly message: string }
  /**
   * The hooks for the end of a run are about to run. From this line on, they may have taken effect and are not run
   * again.
   */
  | { readonly type: "hooks.started"; readonly event: HookEvent; readonly runId: RunId }
  /** Combined result of the hooks for one event. Their context is added to the next user turn. */
  | ({ readonly type: "hooks.ran" } & HookRecord)
  | ({ readonly type: "run.ended" } & RunEnd)
  /** Result of an acceptance check. If the check failed, the agent may continue. */
  | ({
      readonly type: "acceptance.checked";
      readonly runId: RunId;
      /** Whether the verifier could not do its work, so that the changes still have to be verified. */
      readonly stillDue?: boolean | undefined;
    } & AcceptanceResult)
  /** Written after the end of a run, once its resources are released. A worktree with changes is kept. */
  | { readonly type: "run.cleaned"; readonly runId: RunId; readonly worktree?: KeptWorktree | undefined };

/** Starter of an agent that no call started. `person`: the user, by mentioning the agent in a prompt. */
export type StarterWithoutCall = "program" | "person";

/** Identity of a subagent and its parent. */
export interface SpawnSpec {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Summary of the task in three to five words. */
  readonly description: string;
  /** Name that the parent gave the subagent. Messages can be addressed to this name. */
  readonly name?: string | undefined;
  /** Call that started the subagent. */
  readonly parent: ParentCall;
  /** Set if no call started the subagent. If the program started it, its runs are not reported to its parent. */
  readonly by?: StarterWithoutCall | undefined;
  /** Depth in the tree of agents. The main agent has depth 0. */
  readonly depth: number;
  /** Set if the call requested a separate working copy. */
  readonly isolation?: "worktree" | undefined;
  /** Conversation that the subagent continues. */
  readonly fork?: ForkOrigin | undefined;
}

/** Metadata of a subagent's own session, which links it to its parent's session. */
export interface ChildMetadata {
  readonly subagent: {
    /** Id of the root session if the parent is the main agent; otherwise, the parent's id. */
    readonly parentSessionId: SessionId | AgentId;
    readonly agentType: string;
    /** Call that started the subagent. Absent if the program started it. */
    readonly callId?: CallId | undefined;
  };
}

/** A decision as recorded. The reason is omitted for allowed calls, because the rule is enough. */
export type RecordedDecision = Omit<Decision, "reason"> & { readonly reason?: string | undefined };

/** A worktree that is kept because it has changes. */
export interface KeptWorktree {
  readonly path: string;
  /** Directory in which the agent worked, if that is not the top directory. */
  readonly directory?: string | undefined;
  readonly branch: string;
  /** Summary for display, such as `3 files changed, 1 commit`. */
  readonly changes: string;
}

export interface ParentCall {
  readonly agentId: AgentId;
  readonly callId: CallId;
}

/**
 * Why an agent is resumed without a call. `person`: a user or a program resumed it. `approval`: the approval that it
 * was waiting for arrived after its process had ended. `parked`: it was working when the session was parked. `lost`: it
 * was working when its process was killed, and the program that resumed the session lets all agents continue.
 * `awaited`: its parent was waiting for it when the process ended.
 */
export type ResumeCause = "person" | "approval" | "parked" | "lost" | "awaited";

/**
 * Reason for a new head. `start`: the conversation is empty. `fork`: the agent continues another agent's conversation.
 * `model`: another model continues the conversation. `agent`: the user chose another main agent. `settings`: only
 * parameters such as the effort have changed. `compaction`: the conversation was replaced by a summary. `missing`: the
 * previous head is no longer on disk.
 */
export type HeadReason = "start" | "fork" | "model" | "agent" | "settings" | "compaction" | "missing";
export type ContextCause =
  | "acceptance"
  | "agents"
  | "budget"
  | "changes"
  | "loop"
  | "plan"
  | "interrupted"
  | "cut_off"
  | "environment"
  | "fork"
  | "output"
  | "resumed"
  | "reminder"
  | "turns"
  | "verification"
  | "hook";
/** Origin of a plan mode change: the agent with a tool, or the user by opening the session in another mode. */
export type PlanChange = "agent" | "person";
export type CacheDimension = "system" | "system_context" | "user_context" | "tools_model_thinking" | "messages";

/** A failed attempt of a request that is sent again. */
export interface ModelRetry {
  /** Number of the failed attempt, starting at 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Wait before the next attempt. */
  readonly delayMs: number;
  /** HTTP status of the failed attempt, if there was one. */
  readonly status: number | null;
  readonly error: string;
}
