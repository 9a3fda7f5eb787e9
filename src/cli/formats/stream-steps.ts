import { type EventOf, noUsage, type RecordedDecision, type RunUpdate } from "../../protocol/index.ts";
import { wireContent, wireStopReason, wireToolResult, wireUsage } from "./wire-blocks.ts";

interface StepOptions {
  readonly partialMessages: boolean;
  /** If false, only the tool calls in a response are included, not its text. */
  readonly text: boolean;
  /** Call that the subagent works for; null for the main agent. */
  readonly parent: () => string | null;
  readonly agentId?: string;
}

/** Converts an agent's updates to messages in the Messages API format. */
export function createSteps({ partialMessages, text, parent, agentId }: StepOptions): (update: RunUpdate) => object[] {
  const decisions = new Map<string, RecordedDecision>();
  let model = "";
  const streamEvents = createStreamEvents(() => model);
  return (update) => {
    const steps: object[] = [];
    if (partialMessages) {
      for (const event of streamEvents(update)) {
        steps.push({ type: "stream_event", event, parent_tool_use_id: parent() });
      }
    }
    if (update.type === "run.started") model = update.model;
    if (update.type === "tool.requested" && update.decision) decisions.set(update.callId, update.decision);
    if (update.type === "model.ended") {
      const content = wireContent(update.message.content.filter(({ type }) => text || type === "tool_call"));
      if (text || content.length > 0) {
        steps.push({ ...assistantMessage(update, { model, content }), parent_tool_use_id: parent() });
      }
    }
    if (update.type === "conversation.compacted") steps.push({ ...boundaryMessage(update), agent_id: agentId });
    if (update.type === "model.retried") steps.push({ ...retryMessage(update), agent_id: agentId });
    if (update.type === "notice.raised")
      steps.push({ type: "system", subtype: "notice", message: update.message, agent_id: agentId });
    if (update.type === "tool.ended") {
      const decision = decisions.get(update.callId);
      decisions.delete(update.callId);
      if (update.result.outcome === "denied") steps.push({ ...deniedMessage(update, decision), agent_id: agentId });
      steps.push(resultMessage(update, parent()));
    }
    return steps;
  };
}

function assistantMessage(
  { stopReason, usage, turn }: EventOf<"model.ended">,
  { model, content }: { readonly model: string; readonly content: unknown[] },
): object {
  return {
    type: "assistant",
    message: {
      id: messageId(turn),
      type: "message",
      role: "assistant",
      model,
      content,
      stop_reason: wireStopReason(stopReason),
      stop_sequence: null,
      usage: wireUsage(usage),
    },
  };
}

function resultMessage({ callId, result }: EventOf<"tool.ended">, parent: string | null): object {
  return {
    type: "user",
    message: { role: "user", content: [wireToolResult(callId, result)] },
    parent_tool_use_id: parent,
    tool_use_result: { outcome: result.outcome, ...result.details },
  };
}

function retryMessage({ retry }: EventOf<"model.retried">): object {
  return {
    type: "system",
    subtype: "api_retry",
    attempt: retry.attempt,
    max_retries: retry.maxAttempts,
    retry_delay_ms: retry.delayMs,
    error_status: retry.status,
    error: retry.error,
  };
}

function boundaryMessage({ trigger, before }: EventOf<"conversation.compacted">): object {
  return { type: "system", subtype: "compact_boundary", compact_metadata: { trigger, pre_tokens: before } };
}

function deniedMessage(
  { callId, name, result }: EventOf<"tool.ended">,
  decision: RecordedDecision | undefined,
): object {
  const [text] = result.content;
  return {
    type: "system",
    subtype: "permission_denied",
    tool_name: name,
    tool_use_id: callId,
    decision_reason_type: decision === undefined || decision.scope === "builtin" ? "other" : "rule",
    decision_reason: decision?.reason,
    rule: decision?.rule,
    message: text?.type === "text" ? text.text : "",
  };
}

type BlockKind = "text" | "thinking" | `call ${number}`;

/** Converts deltas to Messages API events: a message of numbered blocks, each with a start, deltas and a stop. */
export function createStreamEvents(model: () => string): (update: RunUpdate) => unknown[] {
  let open: { readonly index: number; readonly kind: BlockKind } | undefined;
  let blocks = 0;
  let isStarted = false;

  const close = (): unknown[] => {
    const closed = open;
    open = undefined;
    return closed ? [{ type: "content_block_stop", index: closed.index }] : [];
  };
  const into = (
    kind: BlockKind,
    { turn, block, delta }: { turn: number; block: unknown; delta: unknown },
  ): unknown[] => {
    const events: unknown[] = [];
    if (!isStarted) events.push(messageStart(turn, model()));
    isStarted = true;
    if (open?.kind !== kind) {
      events.push(...close());
      open = { index: blocks++, kind };
      events.push({ type: "content_block_start", index: open.index, content_block: block });
    }
    return [...events, { type: "content_block_delta", index: open.index, delta }];
  };
  const end = (update: EventOf<"model.ended"> | undefined): unknown[] => {
    const events = isStarted ? close() : [];
    if (isStarted && update) events.push(messageDelta(update), { type: "message_stop" });
    open = undefined;
    blocks = 0;
    isStarted = false;
    return events;
  };

  return (update) => {
    if (update.type === "text.delta") {
      const { turn, text } = update;
      return into("text", { turn, block: { type: "text", text: "" }, delta: { type: "text_delta", text } });
    }
    if (update.type === "thinking.delta") {
      const block = { type: "thinking", thinking: "", signature: "" };
      return into("thinking", { turn: update.turn, block, delta: { type: "thinking_delta", thinking: update.text } });
    }
    if (update.type === "call.delta") {
      const block = { type: "tool_use", name: update.name, input: {} };
      const delta = { type: "input_json_delta", partial_json: update.json };
      return into(`call ${update.index}`, { turn: update.turn, block, delta });
    }
    if (update.type === "model.ended") return end(update);
    // A failed attempt leaves no message; the next attempt starts a new one.
    if (update.type === "model.failed" || update.type === "model.retried") return end(undefined);
    return [];
  };
}

function messageStart(turn: number, model: string): unknown {
  const empty = { content: [], stop_reason: null, stop_sequence: null, usage: wireUsage(noUsage) };
  return {
    type: "message_start",
    message: { id: messageId(turn), type: "message", role: "assistant", model, ...empty },
  };
}

/** Returns the id that a streamed message shares with the complete message that follows it. */
function messageId(turn: number): string {
  return `msg_${turn}`;
}

function messageDelta({ stopReason, usage }: EventOf<"model.ended">): unknown {
  const delta = { stop_reason: wireStopReason(stopReason), stop_sequence: null };
  return { type: "message_delta", delta, usage: wireUsage(usage) };
}
