import { type Session, VERSION } from "../../app/index.ts";
import type { EventOf, RecordedDecision, RunUpdate } from "../../protocol/index.ts";
import type { Format } from "./format.ts";
import { failureObject, resultObject } from "./result-object.ts";
import { createStreamEvents, messageId } from "./stream-events.ts";
import { wireContent, wireStopReason, wireToolResult, wireUsage } from "./wire-blocks.ts";
import { createWitness } from "./witness.ts";

export interface StreamOptions {
  readonly partialMessages: boolean;
  readonly newId: () => string;
}

/** Every step as a line of JSON; the result is the last one, always there and only once. */
export function createStreamJsonFormat({ partialMessages, newId }: StreamOptions): Format {
  const witness = createWitness();
  const decisions = new Map<string, RecordedDecision>();
  let sessionId: string | null = null;
  let model = "";
  const streamEvents = createStreamEvents(() => model);
  const line = (body: object): string => `${JSON.stringify({ ...body, session_id: sessionId, uuid: newId() })}\n`;

  const update = (seen: RunUpdate): string => {
    witness.see(seen);
    let lines = "";
    if (partialMessages) {
      for (const event of streamEvents(seen)) {
        lines += line({ type: "stream_event", event, parent_tool_use_id: null });
      }
    }
    if (seen.type === "tool.requested" && seen.decision) decisions.set(seen.callId, seen.decision);
    if (seen.type === "model.ended") lines += line(assistantMessage(seen, model));
    if (seen.type === "model.retried") lines += line(retryMessage(seen));
    if (seen.type === "tool.ended") {
      if (seen.result.outcome === "denied") lines += line(deniedMessage(seen, decisions.get(seen.callId)));
      decisions.delete(seen.callId);
      lines += line(resultMessage(seen));
    }
    return lines;
  };

  return {
    opened: (session) => {
      sessionId = session.id;
      model = session.model.model;
      return line(initMessage(session));
    },
    update,
    result: (result) => line(resultObject(result, witness)),
    failure: (failure) => line(failureObject(failure, sessionId)),
  };
}

function initMessage({ cwd, tools, model, permissionMode }: Session): object {
  return {
    type: "system",
    subtype: "init",
    cwd,
    tools,
    mcp_servers: [],
    model: model.model,
    permissionMode,
    slash_commands: [],
    agents: [],
    skills: [],
    plugins: [],
    apiKeySource: model.provider === "offline" ? "none" : "user",
    output_style: "default",
    // The field is part of the shape; the version in it is ours.
    claude_code_version: VERSION,
    capabilities: [],
    provider: model.provider,
  };
}

function assistantMessage({ message, stopReason, usage, turn }: EventOf<"model.ended">, model: string): object {
  return {
    type: "assistant",
    message: {
      id: messageId(turn),
      type: "message",
      role: "assistant",
      model,
      content: wireContent(message.content),
      stop_reason: wireStopReason(stopReason),
      stop_sequence: null,
      usage: wireUsage(usage),
    },
    parent_tool_use_id: null,
  };
}

function resultMessage({ callId, result }: EventOf<"tool.ended">): object {
  return {
    type: "user",
    message: { role: "user", content: [wireToolResult(callId, result)] },
    parent_tool_use_id: null,
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
