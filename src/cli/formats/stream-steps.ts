import type { EventOf, RecordedDecision, RunUpdate } from "../../protocol/index.ts";
import { createStreamEvents, messageId } from "./stream-events.ts";
import { wireContent, wireStopReason, wireToolResult, wireUsage } from "./wire-blocks.ts";

export interface StepOptions {
  readonly partialMessages: boolean;
  /** False: of its answers only the tool calls. */
  readonly text: boolean;
  /** The call a subagent works on; null for the main agent. */
  readonly parent: () => string | null;
  readonly agentId?: string;
}

/** The steps of one agent as messages, in the words of the Messages API. */
export function createSteps({ partialMessages, text, parent, agentId }: StepOptions): (seen: RunUpdate) => object[] {
  const decisions = new Map<string, RecordedDecision>();
  const who = agentId === undefined ? {} : { agent_id: agentId };
  let model = "";
  const streamEvents = createStreamEvents(() => model);
  return (seen) => {
    const steps: object[] = [];
    if (partialMessages) {
      for (const event of streamEvents(seen)) {
        steps.push({ type: "stream_event", event, parent_tool_use_id: parent() });
      }
    }
    if (seen.type === "run.started") model = seen.model;
    if (seen.type === "tool.requested" && seen.decision) decisions.set(seen.callId, seen.decision);
    if (seen.type === "model.ended") {
      const content = wireContent(seen.message.content.filter(({ type }) => text || type === "tool_call"));
      if (text || content.length > 0) {
        steps.push({ ...assistantMessage(seen, { model, content }), parent_tool_use_id: parent() });
      }
    }
    if (seen.type === "conversation.compacted") steps.push({ ...boundaryMessage(seen), ...who });
    if (seen.type === "model.retried") steps.push({ ...retryMessage(seen), ...who });
    if (seen.type === "tool.ended") {
      const decision = decisions.get(seen.callId);
      decisions.delete(seen.callId);
      if (seen.result.outcome === "denied") steps.push({ ...deniedMessage(seen, decision), ...who });
      steps.push(resultMessage(seen, parent()));
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
  const metadata = { trigger, ...(before === undefined ? {} : { pre_tokens: before }) };
  return { type: "system", subtype: "compact_boundary", compact_metadata: metadata };
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
    ...(decision === undefined ? {} : { decision_reason: decision.reason, rule: decision.rule }),
    message: text?.type === "text" ? text.text : "",
  };
}
