import { describeError, estimateTokens } from "../lib/index.ts";
import type { Model, ModelDescription, ModelProgress, ModelRequest } from "../ports/index.ts";
import type { AssistantBlock, Message, ModelOutcome, StopReason, Usage } from "../protocol/index.ts";
import type { Plan } from "./plan.ts";

/**
 * Creates a model that works without a network or a key. It recognizes a few kinds of jobs and does them with tools.
 */
export function createOfflineModel(): Model {
  return { describe: () => description, call: answerOrExplain };
}

const description: ModelDescription = {
  provider: "offline",
  model: "offline",
  dialect: "anthropic",
  window: 200_000,
  maxOutputTokens: 32_000,
  prices: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  efforts: [],
};

async function answerOrExplain(request: ModelRequest, emit: (progress: ModelProgress) => void): Promise<ModelOutcome> {
  try {
    return await answer(request, emit);
  } catch (error) {
    const message = `The offline model failed: ${describeError(error)} Rephrase the request.`;
    return { ok: false, error: { code: "protocol", message }, partial: [] };
  }
}

async function answer(request: ModelRequest, emit: (progress: ModelProgress) => void): Promise<ModelOutcome> {
  // Loaded only here, because most runs use another model.
  const { plan } = await import("./plan.ts");
  if (request.signal.aborted) return aborted([]);
  const { head } = request.prompt;
  const messages = request.prompt.messages();
  const planned = plan(messages, head.tools);
  const text: AssistantBlock[] = planned.text === "" ? [] : [{ type: "text", text: planned.text }];
  for (const line of planned.text.match(/[^\n]*\n|[^\n]+$/g) ?? []) emit({ type: "text.delta", text: line });
  const calls = (planned.kind === "calls" ? planned.calls : []).map(
    ({ name, input }, index): AssistantBlock => ({
      type: "tool_call",
      callId: request.callId(index),
      name,
      inputJson: JSON.stringify(input),
    }),
  );
  if (request.signal.aborted) return aborted(text);
  const content = [...text, ...calls];
  return {
    ok: true,
    message: { role: "assistant", content },
    stopReason: stopReasons[planned.kind],
    usage: usageOf([head.system, head.systemContext, head.userContext, JSON.stringify(head.tools)], messages, content),
    incompleteCalls: 0,
  };
}

const stopReasons: Readonly<Record<Plan["kind"], StopReason>> = {
  calls: "tool_calls",
  report: "end_turn",
  refusal: "refusal",
};

function aborted(partial: readonly AssistantBlock[]): ModelOutcome {
  return { ok: false, error: { code: "aborted", message: "The request was aborted." }, partial };
}

/** Estimates the tokens that a language model would have used. */
function usageOf(head: readonly string[], messages: readonly Message[], content: readonly AssistantBlock[]): Usage {
  const inputTokens =
    head.reduce((sum, text) => sum + estimateTokens(text), 0) + estimateTokens(JSON.stringify(messages));
  return {
    inputTokens,
    outputTokens: estimateTokens(JSON.stringify(content)),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
}
