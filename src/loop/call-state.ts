import {
  type AgentId,
  type CallId,
  type RunId,
  runtimeText,
  type ToolCall,
  type ToolResult,
  type ToolResultBlock,
  type UserBlock,
  type UserReply,
  withoutRuntimeTag,
} from "../protocol/index.ts";

export interface CallState {
  readonly call: ToolCall;
  /**
   * `asked`: a decision was made, and the call may be waiting for approval. `started`: the call may have taken effect.
   */
  readonly status: "new" | "asked" | "started" | "ended";
  /** Agent that works on the call. The agent's result outlives the process that waited for it. */
  readonly agentId?: AgentId | undefined;
  /** Run that the call started, if the call resumed an existing agent. */
  readonly resumes?: RunId | undefined;
  /** Set if the call can be repeated after a crash to continue what it began. */
  readonly resumable?: true | undefined;
  /** Set if the call is known to be read-only. */
  readonly readsOnly?: true | undefined;
  /** Set if a user or a hook approved the call. */
  readonly granted?: true | undefined;
  /** Replies to the questions that the call asks. */
  readonly replies?: readonly UserReply[] | undefined;
  readonly result?: ToolResult | undefined;
}

/** Finds a call in the newest response. */
export function findCall({ calls }: { readonly calls: readonly CallState[] }, callId: CallId): CallState | undefined {
  return calls[indexOfCall(callId, calls)];
}

/**
 * Returns a call's index. A call's id ends with its index, which is tried first, because searching is slow in responses
 * with a thousand calls.
 */
export function indexOfCall(callId: CallId, calls: readonly CallState[]): number {
  const index = Number(callId.slice(callId.lastIndexOf("_") + 1));
  return calls[index]?.call.callId === callId ? index : calls.findIndex(({ call }) => call.callId === callId);
}

/** Returns the results of calls for a user turn, in call order. */
export function resultBlocks(calls: readonly CallState[]): readonly ToolResultBlock[] {
  return forkedBlocks.get(calls) ?? calls.map(resultBlock);
}

function resultBlock({ call, result }: CallState): ToolResultBlock {
  return {
    type: "tool_result",
    callId: call.callId,
    content: result?.content ?? [],
    isError: result?.outcome !== "ok",
  };
}

/**
 * Returns the calls and their results as text and images, for a conversation that no longer contains the response with
 * the calls. `isOld`: earlier versions sent this text, so its bytes must stay the same.
 */
export function toldCalls(calls: readonly CallState[], isOld = false): readonly UserBlock[] {
  if (calls.length === 0) return [];
  const told = calls.flatMap(({ call, result }): UserBlock[] => {
    const outcome = result?.outcome ?? "cancelled";
    const begin = `<call tool="${call.name}"${outcome === "ok" ? "" : ` outcome="${outcome}"`}>\n${escapeCalls(call.inputJson)}\n</call>`;
    const content = (result?.content ?? []).map((block) =>
      block.type === "text" ? { ...block, text: escapeCalls(block.text) } : block,
    );
    return [text(`${begin}\n<result>`), ...content, text("</result>")];
  });
  const about = isOld
    ? "[Your newest calls and their results, which you have not seen yet. They are not a new request.]"
    : runtimeText(
        "Your newest calls and their results follow. You have not seen them yet. They are not a new request.",
      );
  return [text(about), ...told];
}

function text(value: string): UserBlock {
  return { type: "text", text: value };
}

/** Escapes text that would begin or end a call or a result, or that imitates Retinue's tag. */
function escapeCalls(value: string): string {
  return withoutRuntimeTag(value).replace(/<(?=\/?(?:call|result)\b)/gi, "&lt;");
}

/**
 * Result that a fork sees for every call in the response that started the fork. The text is always the same, so that
 * sibling forks share its bytes.
 */
const forkedResult: ToolResult = { outcome: "ok", content: [{ type: "text", text: "[forked]" }] };

/**
 * Caches calls as forks see them. The key is the list of call ids, which sibling forks share, so they also share the
 * calls and blocks: a hundred forks of a response with a hundred calls store those calls once.
 */
const forkedByIds = new WeakMap<readonly CallId[], readonly CallState[]>();
const forkedBlocks = new WeakMap<readonly CallState[], readonly ToolResultBlock[]>();

/**
 * Returns the calls in the response that started a fork, as the fork sees them: all of them have ended with the same
 * placeholder as their result.
 */
export function forkedCalls(ids: readonly CallId[]): readonly CallState[] {
  const known = forkedByIds.get(ids);
  if (known !== undefined) return known;
  const calls = ids.map(
    (callId): CallState => ({ call: { callId, name: "", inputJson: "{}" }, status: "ended", result: forkedResult }),
  );
  forkedByIds.set(ids, calls);
  forkedBlocks.set(calls, calls.map(resultBlock));
  return calls;
}
