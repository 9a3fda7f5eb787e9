import type {
  AcceptanceResult,
  AgentId,
  ApprovalAnswer,
  CallId,
  CallOutcome,
  ContextCause,
  EndedNotice,
  HookRecord,
  JsonObject,
  ModelRetry,
  PermissionMode,
  PromptId,
  RecordedDecision,
  ResultBlock,
  RunEnd,
  RunId,
} from "../../protocol/index.ts";

/** Something that happened in an agent's conversation, as shown to people. */
export type Item = ItemBase & ItemPart;

export type ItemPart =
  | RunItem
  | PromptItem
  | TextItem
  | CallPart
  | NoteItem
  | ChangeItem
  | { readonly kind: "hook"; readonly hook: HookRecord }
  | { readonly kind: "acceptance"; readonly check: AcceptanceResult }
  | CompactionItem
  | EndItem;

interface ItemBase {
  /**
   * Number of the item within its agent, starting at 0 and counted across all runs. It never changes, even if earlier
   * items are dropped.
   */
  readonly position: number;
  /** Time in milliseconds since 1970. */
  readonly at: number;
}

interface RunItem {
  readonly kind: "run";
  readonly runId: RunId;
  readonly isResumed: boolean;
  readonly model: string;
}

interface PromptItem {
  readonly kind: "prompt";
  readonly from: "person" | "agent";
  readonly text: string;
  /** Number of images in the prompt. */
  readonly images: number;
  readonly promptId?: PromptId | undefined;
}

interface TextItem {
  readonly kind: "text" | "thinking";
  readonly turn: number;
  readonly text: string;
  /** Set if the response failed after this text. */
  readonly isCutOff?: true | undefined;
}

/** A tool call, from the response that contains it to its result. */
export interface CallPart {
  readonly kind: "call";
  readonly callId: CallId;
  readonly name: string;
  /** Input as the model wrote it, or as a hook or an approver changed it. */
  readonly inputJson: string;
  /** Summary of the input on one line, such as `src/a.ts`. */
  readonly target: string;
  readonly decision?: RecordedDecision | undefined;
  /** The last request for approval. It is open as long as it has no answer and the call has no result. */
  readonly approval?: CallApproval | undefined;
  /** Summary of the original input, if an approver has changed the input. */
  readonly targetBefore?: string | undefined;
  readonly requestedAt?: number | undefined;
  /** Milliseconds for which the call has waited for approval. The duration in the call's result includes them. */
  readonly waitedMs?: number | undefined;
  /** Time at which the call began to run. Absent while it is waiting for its turn or for approval. */
  readonly startedAt?: number | undefined;
  /** Latest progress of an open call, as reported by its tool. Not kept in the items. */
  readonly progress?: string | undefined;
  /** Agents that the call has started or resumed. */
  readonly agents?: readonly AgentId[] | undefined;
  readonly result?: CallResult | undefined;
}

/** A tool call as an item of a conversation. */
export type CallItem = ItemBase & CallPart;

/** A request for approval of a call, and its answer. */
export interface CallApproval {
  readonly requestId: string;
  readonly reason: string;
  readonly askedAt: number;
  readonly answer?: Omit<ApprovalAnswer, "inputJson"> | undefined;
}

/** The result of a call. */
export interface CallResult {
  readonly outcome: CallOutcome;
  /** Time from the request to the result. */
  readonly milliseconds: number;
  /** The result as the model sees it. */
  readonly content: readonly ResultBlock[];
  /** Details from the tool for user interfaces. For a changed file: `path`, `added`, `removed` and `diff`. */
  readonly details?: JsonObject | undefined;
}

/**
 * A message from the runtime. `notice`: for the user. `told`: for the model. `agents`: for the model, about background
 * agents that have ended. `retry` and `error`: a request to the model failed.
 */
interface NoteItem {
  readonly kind: "notice" | "told" | "agents" | "retry" | "error";
  readonly text: string;
  readonly code?: string | undefined;
  readonly cause?: ContextCause | undefined;
  readonly ended?: readonly EndedNotice[] | undefined;
  readonly retry?: ModelRetry | undefined;
}

/** A change in how the agent works. */
interface ChangeItem {
  readonly kind: "change";
  readonly change:
    | "plan.entered"
    | "plan.left"
    | "mode.changed"
    | "conversation.rewound"
    | "run.backgrounded"
    | "run.awaited"
    | "agent.resumed";
  /** New permission mode. */
  readonly mode?: PermissionMode | undefined;
  /** Absolute paths of files that were restored. */
  readonly restored?: readonly string[] | undefined;
  /** Agent that this agent waits for or resumes. */
  readonly agentId?: AgentId | undefined;
}

interface EndItem extends Omit<RunEnd, "runId" | "facts" | "acceptance" | "modelMilliseconds"> {
  readonly kind: "end";
  /** Names the changes that were not verified because the run ended early. */
  readonly unverified?: string | undefined;
}

interface CompactionItem {
  readonly kind: "compaction";
  readonly summary: string;
  readonly trigger: "auto" | "manual";
  /** Estimated tokens in the next request before and after. */
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}
