import type { EventOf, RecordedDecision, RunUpdate } from "../../protocol/index.ts";
import { createStreamEvents, messageId } from "./stream-events.ts";
import { wireContent, wireStopReason, wireToolResult, wireUsage } from "./wire-blocks.ts";

interface StepOptions {
  readonly partialMessages: boolean;
  /** False to include only the tool calls of its answers. */
  readonly text: boolean;
  /** Call that a subagent works on; null for the main agent. */
  readonly parent: () => string | null;
  readonly agentId?: string;
}

/** Turns the updates of one agent into messages in the format of the Messages API. */
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
