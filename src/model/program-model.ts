import { describeError, isRecord } from "../lib/index.ts";
import type { Clock, Model, ModelDescription, ModelProgress, ModelRequest } from "../ports/index.ts";
import type { AssistantBlock, ModelOutcome, Prices, StopReason } from "../protocol/index.ts";
import { completeInput } from "./answer.ts";
import type { Limiter } from "./limits/limiter.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./limits/retry.ts";
import { enforceableSchema } from "./providers/enforceable-schema.ts";
import { type ProviderInfo, suppliedInfo } from "./providers/provider-info.ts";
import { type AttemptListener, type AttemptResult, brokenUsage, sendWithRetries } from "./send-with-retries.ts";
import { type Failure, failure } from "./transport/failure.ts";
import { failureOfError } from "./transport/failure-of-error.ts";

export interface ProgramModelOptions {
  /** Limiter for the model object, shared by the whole process. */
  readonly limiter: Limiter;
  readonly clock: Pick<Clock, "now">;
  /** Prices from the settings, for a model that describes none. */
  readonly prices?: Prices | undefined;
  readonly random?: () => number;
  readonly retry?: Partial<RetryPolicy>;
}

/**
 * Wraps a model that a program supplies, so that it never rejects. Errors that it throws are retried and reported like
 * those of a model over HTTP. An invalid outcome becomes a failure with an explanation.
 */
export function createProgramModel(model: Model, options: ProgramModelOptions): Model {
  const { limiter, clock, prices, random = Math.random } = options;
  const describe = (): ModelDescription => {
    const described = model.describe();
    return { ...described, prices: described.prices ?? prices, isSupplied: true };
  };
  const info = suppliedInfo(describe());
  const policy = { ...defaultRetryPolicy, ...options.retry };
  const told = new Set<string>();
  let reached = false;
  const failureOf = (thrown: unknown): Failure =>
    failureOfError(thrown, { info, now: clock.now(), reached }) ?? invalid(info, `failed: ${describeError(thrown)}`);

  async function attempt(request: ModelRequest, { emit, taken }: AttemptListener): Promise<AttemptResult> {
    const received = receive((progress) => {
      if (progress.type === "notice") {
        if (told.has(progress.message)) return;
        told.add(progress.message);
      } else if (progress.type !== "waiting" && progress.type !== "sent") taken();
      emit(progress);
    });
    try {
      const outcome: unknown = await model.call(request, received.emit);
      const problem = outcomeProblem(outcome);
      if (problem !== undefined) return { kind: "failed", failure: invalid(info, problem), partial: [] };
      const given = completeOutcome(outcome as ModelOutcome);
      if (!given.ok) {
        const { error, partial, usage: spent } = given;
        return { kind: "failed", failure: { error, retry: "no" }, partial, spent };
      }
      reached = true;
      return { kind: "complete", answer: given };
    } catch (error) {
      const { aborted } = request.signal;
      const characters = received.text().length;
      const lost = {
        partial: received.text() === "" ? [] : [{ type: "text" as const, text: received.text() }],
        spent: aborted || characters > 0 ? brokenUsage(undefined, characters, request) : undefined,
      };
      return aborted ? { kind: "aborted", ...lost } : { kind: "failed", failure: failureOf(error), ...lost };
    } finally {
      received.close();
    }
  }

  return {
    describe,
    call: (request, emit) => {
      const { answerSchema } = request;
      let schema = answerSchema && enforceableSchema(answerSchema);
      const route = {
        limiter,
        policy,
        random,
        attempt: (sent: ModelRequest, listener: AttemptListener) =>
          attempt({ ...sent, answerSchema: schema }, listener),
        adapts: ({ error }: Failure): boolean => {
          if (schema === undefined || (error.code !== "bad_request" && error.code !== "unsupported")) return false;
          schema = undefined;
          return true;
        },
      };
      return sendWithRetries(route, request, emit);
    },
  };
}

function invalid({ model }: ProviderInfo, problem: string): Failure {
  return failure("protocol", { message: `The program's model ${model} ${problem}` });
}

/** Collects the text that a model emits. After `close`, nothing is passed on any more. */
function receive(emit: (progress: ModelProgress) => void) {
  let text = "";
  let isClosed = false;
  return {
    emit(progress: ModelProgress): void {
      if (isClosed) return;
      if (progress.type === "text.delta") text += progress.text;
      emit(progress);
    },
    text: () => text,
    close(): void {
      isClosed = true;
    },
  };
}

/** Returns what is wrong with an outcome from the program's model, as the end of a sentence; undefined if it is valid. */
function outcomeProblem(value: unknown): string | undefined {
  if (!isRecord(value) || typeof value["ok"] !== "boolean")
    return "did not return an outcome: { ok: true, message, stopReason, usage } or { ok: false, error }.";
  const wrong = value["ok"] ? responseProblem(value) : failureProblem(value);
  return wrong && `returned an invalid outcome: ${wrong}.`;
}

function responseProblem({ message, stopReason, usage }: Readonly<Record<string, unknown>>): string | undefined {
  const content = isRecord(message) ? message["content"] : undefined;
  if (!Array.isArray(content)) return "message.content must be an array";
  for (const [index, block] of content.entries()) {
    const wrong = blockProblem(block);
    if (wrong !== undefined) return `message.content[${index}]${wrong}`;
  }
  if (!stopReasons.some((known) => known === stopReason)) return `stopReason must be one of ${stopReasons.join(", ")}`;
  return isRecord(usage) ? undefined : "usage must be an object with token counts";
}

const stopReasons = [
  "end_turn",
  "tool_calls",
  "max_tokens",
  "refusal",
  "stop_sequence",
  "pause",
] satisfies StopReason[];

/** Text fields of each kind of block. */
const blockFields: Readonly<Record<AssistantBlock["type"], readonly string[]>> = {
  text: ["text"],
  thinking: ["text"],
  opaque: ["json"],
  tool_call: ["callId", "name", "inputJson"],
};

function blockProblem(block: unknown): string | undefined {
  const type = isRecord(block) ? String(block["type"]) : "";
  if (!isRecord(block) || !Object.hasOwn(blockFields, type))
    return `.type must be one of ${Object.keys(blockFields).join(", ")}`;
  const wrong = blockFields[type as AssistantBlock["type"]].find((field) => typeof block[field] !== "string");
  return wrong && `.${wrong} must be a string`;
}

function failureProblem({ error, partial }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isRecord(error) || typeof error["message"] !== "string") return "error.message must be a string";
  return partial === undefined || Array.isArray(partial) ? undefined : "partial must be an array";
}

/**
 * Adds the fields that a program without type checking may leave out, and removes calls whose input is not complete,
 * which must never be run.
 */
function completeOutcome(outcome: ModelOutcome): ModelOutcome {
  if (!outcome.ok) return { ...outcome, partial: outcome.partial ?? [] };
  const { message, stopReason, incompleteCalls = 0 } = outcome;
  const last = message.content.at(-1);
  const content = message.content.flatMap((block): readonly AssistantBlock[] => {
    if (block.type !== "tool_call") return [block];
    // The token limit can cut off a call before its first character, which must not look like "no arguments".
    const inputJson = completeInput(block.inputJson, stopReason !== "max_tokens" || block !== last);
    return inputJson === undefined ? [] : [inputJson === block.inputJson ? block : { ...block, inputJson }];
  });
  const left = message.content.length - content.length;
  return {
    ...outcome,
    message: { ...message, content },
    incompleteCalls: incompleteCalls + left,
  };
}
