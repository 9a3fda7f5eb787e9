import type { AlwaysAnswer } from "./approval.ts";
import type { ForkOrigin } from "./fork.ts";
import type { HookEvent, HookRecord } from "./hook.ts";
import type { AgentId, CallId, RunId, SessionId } from "./ids.ts";
import type { AssistantBlock, AssistantMessage, UserBlock } from "./message.ts";
import type { ModelError, StopReason } from "./model-outcome.ts";
import type { EndedNotice } from "./notice.ts";
import type { AcceptanceResult, RunEnd } from "./outcome.ts";
import type { Decision, PermissionMode } from "./permission.ts";
import type { RecordedPolicy } from "./recorded-policy.ts";
import type { ToolResult } from "./tool-call.ts";
import type { ToolReport } from "./tool-report.ts";
import type { Prices, ReservedSpend, Usage } from "./usage.ts";

/** Journaled, numbered, replayable. The transcript is these and nothing else. */
export type DurableEvent =
  | {
      readonly type: "session.created";
      readonly sessionId: SessionId;
      readonly cwd: string;
      readonly version: string;
      /** Version of the serialiser that made the conversation's bytes. */
      readonly serializer: number;
    }
  /** The first line of a subagent's transcript. */
  | ({
      readonly type: "agent.created";
      readonly sessionId: SessionId;
      readonly cwd: string;
      readonly version: string;
      readonly serializer: number;
    } & SpawnSpec)
  /** In the parent's transcript, before the child exists: after a crash its call is taken up where the child stands. */
  | {
      readonly type: "agent.spawned";
      readonly callId: CallId;
      readonly agentId: AgentId;
      readonly agentType: string;
      readonly description: string;
      /** It goes on from this conversation, or knows it. */
      readonly status?: "sub_agent_entered" | undefined;
    }
  /** In the caller's transcript, before an older agent goes on for its call: after a crash the call is taken up too. */
  | {
      readonly type: "agent.resumed";
      readonly callId: CallId;
      readonly agentId: AgentId;
      /** The run that is to begin. */
      readonly runId: RunId;
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
      /** Why this model: which setting, flag or default chose it. */
      readonly modelReason: string;
      readonly permissionMode: PermissionMode;
      readonly maxTurns: number;
      /** Of its model as they were then; absent where nobody knows them. */
      readonly prices?: Prices | undefined;
      /** Nobody waits for it; its end is told to its parent. */
      readonly background?: true | undefined;
      /** It does not end before the agents it has in the background. */
      readonly waits?: true | undefined;
      /** What a subagent's definition asked for and what it got. */
      readonly tools?: ToolReport | undefined;
      /** What a subagent may do; it gets no more when it goes on. */
      readonly policy?: RecordedPolicy | undefined;
    }
  /** From here on nobody waits for this run. */
  | { readonly type: "run.backgrounded"; readonly runId: RunId; readonly cause: "person" | "timeout" }
  /** From here on this agent and all below it only look, until the plan is left. */
  | { readonly type: "plan.entered"; readonly by: PlanChange }
  | { readonly type: "plan.left"; readonly by: PlanChange }
  | {
      readonly type: "head.set";
      readonly hash: string;
      /** Fingerprints of its dimensions of the cache key. */
      readonly dimensions?: Readonly<Record<Exclude<CacheDimension, "messages">, string>> | undefined;
    }
  /** Somebody's words for the agent. */
  | { readonly type: "prompt.received"; readonly content: readonly UserBlock[]; readonly from: "person" | "agent" }
  /** Words the runtime adds to the next user turn (a warning, an interruption told). */
  | { readonly type: "context.added"; readonly text: string; readonly cause: ContextCause }
  /** Ends of background runs, told to their parent: exactly once, because these lines say which were. */
  | { readonly type: "notices.delivered"; readonly notices: readonly EndedNotice[]; readonly text: string }
  /** Everything before this line belongs to the request; the user turn is sealed. */
  | { readonly type: "model.requested"; readonly turn: number; readonly reserved?: ReservedSpend | undefined }
  /** Before a request that has no `model.requested`: a compaction, or a tool call that asks a model. */
  | { readonly type: "spend.reserved"; readonly request: CallId | "compaction"; readonly reserved: ReservedSpend }
  /** What requests cost of which no other line tells: an interrupted compaction, or those that were under way when the process was lost. */
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
      /** Usage of the attempt that failed; absent: none. */
      readonly usage?: Usage | undefined;
      readonly costUsd?: number | undefined;
    }
  | {
      readonly type: "model.ended";
      readonly turn: number;
      readonly message: AssistantMessage;
      readonly stopReason: StopReason;
      /** Calls that were begun and never finished: in no message, never run. */
      readonly incompleteCalls: number;
      readonly usage: Usage;
      /** What was paid for tries that broke off. `costUsd` is with it. */
      readonly lostUsage?: Usage | undefined;
      readonly costUsd?: number | undefined;
      readonly milliseconds: number;
      /** Of the messages as they were sent, the fifth dimension of the cache key. */
      readonly fingerprint?: string | undefined;
    }
  | {
      readonly type: "model.failed";
      readonly turn: number;
      readonly error: ModelError;
      /** What had arrived in full; never a tool call. */
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
      /** The call was proven to change nothing: everything it touches is only read. */
      readonly readsOnly?: true | undefined;
    }
  | {
      readonly type: "approval.requested";
      readonly requestId: string;
      readonly callId: CallId;
      readonly name: string;
      readonly inputJson: string;
      readonly reason: string;
      /** Rules that "always" can mean; absent: it can only be allowed once. */
      readonly always?: readonly string[] | undefined;
    }
  | {
      readonly type: "approval.answered";
      readonly requestId: string;
      readonly callId: CallId;
      readonly answer: "allow" | "deny";
      readonly by: string;
      readonly message?: string | undefined;
      /** What the call is from here on, where who allowed it changed it. */
      readonly inputJson?: string | undefined;
      readonly always?: AlwaysAnswer | undefined;
    }
  /** The intent: from here on the call may have had its effect. */
  | {
      readonly type: "tool.started";
      readonly callId: CallId;
      /** After a crash the call is performed again: it continues what it began. */
      readonly resumable?: true | undefined;
    }
  | {
      readonly type: "tool.ended";
      readonly callId: CallId;
      readonly name: string;
      readonly result: ToolResult;
      readonly milliseconds: number;
    }
  /** A new chain: summary, then the last `kept` messages as they were. */
  | {
      readonly type: "conversation.compacted";
      readonly summary: string;
      readonly kept: number;
      readonly trigger: "auto" | "manual";
      /** About how many tokens the next request would have had, and has now. */
      readonly before?: number | undefined;
      readonly after?: number | undefined;
      /** What it took to ask the model for the summary; absent when the model was not asked. */
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
  /** Hooks are told of an end: from here on they may have done what they do then, and are not told again. */
  | { readonly type: "hooks.started"; readonly event: HookEvent; readonly runId: RunId }
  /** What hooks said together. Its context stands in the next user turn. */
  | ({ readonly type: "hooks.ran" } & HookRecord)
  | ({ readonly type: "run.ended" } & RunEnd)
  /** Work that its agent calls done was held against a check; where it did not stand it the agent may go on. */
  | ({ readonly type: "acceptance.checked"; readonly runId: RunId } & AcceptanceResult)
  /** Behind the end of a run, when everything that was made for it is gone, except what it left. */
  | { readonly type: "run.cleaned"; readonly runId: RunId; readonly worktree?: KeptWorktree | undefined };

/** Who a subagent is and for whom it works. */
export interface SpawnSpec {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Three to five words. */
  readonly description: string;
  /** Name that its parent gave it, for messages. */
  readonly name?: string | undefined;
  /** The call that started it. */
  readonly parent: ParentCall;
  /** The main agent has depth 0. */
  readonly depth: number;
  /** Its call asked for a working copy of its own. */
  readonly isolation?: "worktree" | undefined;
  /** Its conversation continues another agent's. */
  readonly fork?: ForkOrigin | undefined;
}

/** What was allowed needs no reason beyond the rule that allowed it; most calls are. */
export type RecordedDecision = Omit<Decision, "reason"> & { readonly reason?: string | undefined };

/** A copy in which something was changed. */
export interface KeptWorktree {
  readonly path: string;
  readonly branch: string;
  /** One line for people: `3 files changed, 1 commit`. */
  readonly changes: string;
}

export interface ParentCall {
  readonly agentId: AgentId;
  readonly callId: CallId;
}

export type ContextCause =
  | "acceptance"
  | "agents"
  | "budget"
  | "loop"
  | "plan"
  | "interrupted"
  | "cut_off"
  | "resumed"
  | "reminder"
  | "verification"
  | "hook";
/** By a tool of the agent (leaving needs a person's yes), or by who opened the session in another mode. */
export type PlanChange = "agent" | "person";
export type CacheDimension = "system" | "system_context" | "user_context" | "tools_model_thinking" | "messages";

export interface ModelRetry {
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly delayMs: number;
  readonly status: number | null;
  readonly error: string;
}
