import type { BodyOptions, Clock, Model, ModelProgress, ModelRequest } from "../ports/index.ts";
import type { AssistantBlock, Dialect, ModelOutcome, Usage } from "../protocol/index.ts";
import { addUsage, noUsage } from "../protocol/index.ts";
import type { AnswerReader, CompleteAnswer, ReaderOptions } from "./answer.ts";
import { createAnthropicReader } from "./anthropic/anthropic-reader.ts";
import type { Limiter, Pass } from "./limits/limiter.ts";
import { decideRetry, defaultRetryPolicy, type RetryPolicy } from "./limits/retry.ts";
import { createOpenaiReader } from "./openai/openai-reader.ts";
import { createResponsesReader } from "./openai/responses-reader.ts";
import { describeModel } from "./providers/describe-model.ts";
import { commonHeaders, messagesUrl } from "./providers/endpoint.ts";
import { enforceableSchema } from "./providers/enforceable-schema.ts";
import { type ProviderInfo, providerInfo } from "./providers/provider-info.ts";
import type { ResolvedProvider } from "./providers/providers.ts";
import { type AttemptEnd, type AttemptOptions, attempt } from "./transport/attempt.ts";
import { type Connections, sharedConnections } from "./transport/connections.ts";
import type { Failure } from "./transport/failure.ts";

export interface WireModelOptions {
  readonly provider: ResolvedProvider;
  readonly model: string;
  /** Limiter for the provider, key and model, shared by the whole process. */
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly connections?: Connections;
  readonly retry?: Partial<RetryPolicy>;
  /** Maximum time that the server may be silent, including the time before the headers. */
  readonly idleMs?: number;
  /** Maximum time for one response. */
  readonly totalMs?: number;
  readonly maxAnswerBytes?: number;
}

/** Creates a model that is reached over HTTP. Server and network failures are returned as outcomes, not thrown. */
export function createWireModel(options: WireModelOptions): Model {
  const { provider, model, connections = sharedConnections() } = options;
  const description = describeModel(provider, model);
  const url = messagesUrl(provider.baseUrl, provider.dialect);
  const info = providerInfo(provider, model);
  const wire: Wire = {
    options,
    info,
    url,
    random: options.random ?? Math.random,
    policy: { ...defaultRetryPolicy, ...options.retry },
    connections,
  };
  return {
    describe: () => description,
    call: (request, emit) => callWithRetries(wire, request, emit),
  };
}

interface Wire {
  readonly options: WireModelOptions;
  readonly info: ProviderInfo;
  readonly url: URL;
  readonly random: () => number;
  readonly policy: RetryPolicy;
  readonly connections: Connections;
}

type Emit = (progress: ModelProgress) => void;

async function callWithRetries(wire: Wire, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
  const { options, policy, random } = wire;
  const { limiter } = options;
  const { signal } = request;
  const ticket = limiter.ticket();
  const lost = createLost();
  const send = sender(wire, request);
  const fallback = createFallback(wire, request);
  let { maxTokens, prompt, withoutThinking } = request;
  for (let tries = 1; ; tries += 1) {
    const pass = await limiter.enter(ticket, signal, () => emit({ type: "waiting", for: "rateLimit" }));
    if (pass === undefined) return lost.aborted();
    const received = countReceived(emit);
    const reader = readerFor(wire, request, received.emit);
    let progress: Progress = "unsent";
    const end = await sendOnce(pass, () => {
      emit({ type: "sent" });
      const options = {
        body: fallback.current(),
        onSent: () => {
          if (progress === "unsent") progress = "sent";
        },
        onTaken: () => {
          progress = "accepted";
          pass.taken();
        },
      };
      return send(reader, { prompt, maxTokens }, options);
    });
    if (end.kind === "complete") {
      pass.leave({ kind: "answered" });
      fallback.answered();
      return lost.before(reader.answer());
    }
    const attempt = { characters: received.characters(), request: { ...request, prompt } };
    const spent = isBilled(progress, end) ? usageOf(reader, attempt) : undefined;
    lost.add(reader.partial(), spent);
    if (end.kind !== "failed") {
      pass.leave({ kind: "failed" });
      return lost.aborted();
    }
    const bare = end.failure.error.code === "thinking_refused" ? await withoutThinking?.() : undefined;
    if (bare) {
      prompt = bare;
      withoutThinking = undefined;
    }
    const decision =
      bare || fallback.isRefused(end.failure)
        ? { again: true as const, delayMs: 0, maxAttempts: tries + 1 }
        : decideRetry(end.failure, { attempt: tries, policy, random });
    if (!decision.again) {
      pass.leave({ kind: "failed" });
      return lost.outcome(decision.failure.error);
    }
    const { delayMs, maxAttempts } = decision;
    const { status = null, message: error } = end.failure.error;
    emit({ type: "retried", retry: { attempt: tries, maxAttempts, delayMs, status, error }, lost: spent });
    pass.leave({ kind: end.failure.pushback ?? "failed", waitMs: delayMs });
    const next = spent && request.repeat ? await request.repeat(spent) : maxTokens;
    if (typeof next !== "number") return lost.outcome({ code: "budget", message: next.message });
    maxTokens = next;
  }
}

/** Progress of an attempt. */
type Progress = "unsent" | "sent" | "accepted";

/**
 * Returns whether the provider bills the attempt. Providers bill the requests that they accept. A request that was sent
 * and then abandoned may have been accepted; one that was refused, or whose connection broke before a response began,
 * was not.
 */
function isBilled(progress: Progress, end: AttemptEnd): boolean {
  if (progress !== "sent") return progress === "accepted";
  return end.kind === "aborted" || (end.kind === "failed" && end.failure.error.code === "stalled");
}

async function sendOnce(pass: Pass, send: () => Promise<AttemptEnd>): Promise<AttemptEnd> {
  try {
    return await send();
  } catch (bug) {
    pass.leave({ kind: "failed" });
    throw bug;
  }
}

function sender(
  wire: Wire,
  { signal }: ModelRequest,
): (reader: AnswerReader, request: Pick<ModelRequest, "prompt" | "maxTokens">, on: SendOptions) => Promise<AttemptEnd> {
  const { options, info, url, connections } = wire;
  const { provider, clock, idleMs = 300_000, totalMs = 7_200_000, maxAnswerBytes = 32_000_000 } = options;
  return async (reader, { prompt, maxTokens }, { body: parts, ...on }) => {
    const body = prompt.body(provider.dialect, maxTokens, parts);
    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
      ...commonHeaders(provider),
    };
    const connector = await connections.to(url);
    const now = () => clock.now();
    const limits = { idleMs, totalMs, maxAnswerBytes };
    return attempt({ connector, url, headers, body, reader, signal, info, now, ...limits, ...on });
  };
}

interface SendOptions extends Pick<AttemptOptions, "onSent" | "onTaken"> {
  readonly body: BodyOptions;
}

/**
 * Models that rejected a request with a schema and accepted it without one, and models that rejected a request for
 * summaries, each with the URL of its server.
 */
const modelsWithoutSchemas = new Set<string>();
const modelsWithoutSummaries = new Set<string>();

const refusedReasoning = /reasoning[ _.]summar/i;
const refusedDisplay = /\badaptive\b|thinking\.display|thinking: extra inputs|unknown[^.]*\b(thinking|display)\b/i;

/**
 * Decides whether a request asks the provider to enforce the schema of the answer, which not all servers and models can
 * do, and for summaries of the thinking, which OpenAI refuses to organizations that it has not verified, and some
 * gateways to every client.
 */
function createFallback({ url, info, options }: Wire, { answerSchema, prompt }: ModelRequest) {
  const name = `${url.href} ${info.model}`;
  let schema = answerSchema && !modelsWithoutSchemas.has(name) ? enforceableSchema(answerSchema) : undefined;
  let wasRefused = false;
  const { dialect } = options.provider;
  const refusedSummaries =
    dialect === "responses"
      ? refusedReasoning
      : dialect === "anthropic" && prompt.head.thinking
        ? refusedDisplay
        : undefined;
  return {
    current: (): BodyOptions => ({
      answerSchema: schema,
      withoutSummaries: modelsWithoutSummaries.has(name) || undefined,
    }),
    /**
     * Returns whether the schema or the summaries may be the reason for a failure, in which case the next attempt is
     * sent without them.
     */
    isRefused({ error }: Failure): boolean {
      if (error.code !== "bad_request" && error.code !== "unsupported") return false;
      if (!modelsWithoutSummaries.has(name) && refusedSummaries?.test(error.message)) {
        modelsWithoutSummaries.add(name);
        return true;
      }
      if (schema === undefined) return false;
      schema = undefined;
      wasRefused = true;
      return true;
    },
    answered(): void {
      if (wasRefused) modelsWithoutSchemas.add(name);
    },
  };
}

function readerFor({ options, info }: Wire, { callId, prompt }: ModelRequest, emit: Emit): AnswerReader {
  const origin = { provider: info.provider, model: info.model };
  return createReader[options.provider.dialect]({ origin, callId, emit, cacheLifetime: prompt.head.cacheLifetime });
}

export const createReader: Record<Dialect, (options: ReaderOptions) => AnswerReader> = {
  anthropic: createAnthropicReader,
  openai: createOpenaiReader,
  responses: createResponsesReader,
};

/** Counts the received characters of a response. */
function countReceived(emit: Emit): { readonly emit: Emit; readonly characters: () => number } {
  let characters = 0;
  const counting: Emit = (progress) => {
    if ("text" in progress) characters += progress.text.length;
    if ("json" in progress) characters += progress.json.length;
    emit(progress);
  };
  return { emit: counting, characters: () => characters };
}

const CHARACTERS_PER_TOKEN = 4;

/**
 * Returns the usage of a response up to the point where it broke off, which may be before the provider reported any
 * usage.
 */
function usageOf(
  reader: AnswerReader,
  { characters, request }: { readonly characters: number; readonly request: ModelRequest },
): Usage {
  const reported = reader.usage();
  const received = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  const inputTokens = () => {
    const { prompt, promptTokens = 0 } = request;
    const bytes = prompt.body(prompt.head.dialect, 0).reduce((sum, piece) => sum + piece.length, 0);
    return Math.max(promptTokens, Math.ceil(bytes / CHARACTERS_PER_TOKEN));
  };
  const usage = reported ?? { ...noUsage, inputTokens: inputTokens() };
  return { ...usage, outputTokens: Math.max(usage.outputTokens, received) };
}

/** Collects what failed attempts leave behind: the longest partial response, and every token that was paid for. */
function createLost() {
  let partial: readonly AssistantBlock[] = [];
  let longest = 0;
  let usage: Usage | undefined;
  const outcome = (error: Extract<ModelOutcome, { ok: false }>["error"]): ModelOutcome => ({
    ok: false,
    error,
    partial,
    usage,
  });
  return {
    add(blocks: readonly AssistantBlock[], spent: Usage | undefined): void {
      const length = blocks.reduce((sum, block) => sum + ("text" in block ? block.text.length : 0), 0);
      if (length > longest) {
        longest = length;
        partial = blocks;
      }
      if (spent) usage = usage ? addUsage(usage, spent) : spent;
    },
    before: (answer: CompleteAnswer): ModelOutcome => (usage === undefined ? answer : { ...answer, lostUsage: usage }),
    outcome,
    aborted: () => outcome({ code: "aborted", message: "The request was stopped. Resume the session to continue." }),
  };
}
