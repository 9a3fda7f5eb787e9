import type { BodyOptions, Clock, Model, ModelProgress, ModelRequest } from "../ports/index.ts";
import type { Dialect, ModelOutcome } from "../protocol/index.ts";
import type { AnswerReader, CompleteAnswer, ReaderOptions } from "./answer.ts";
import { createAnthropicReader } from "./anthropic/anthropic-reader.ts";
import { createGeminiReader } from "./gemini/gemini-reader.ts";
import type { Limiter } from "./limits/limiter.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./limits/retry.ts";
import { createOpenaiReader } from "./openai/openai-reader.ts";
import { createResponsesReader } from "./openai/responses-reader.ts";
import { describeModel } from "./providers/describe-model.ts";
import { commonHeaders, messagesUrl } from "./providers/endpoint.ts";
import { enforceableSchema } from "./providers/enforceable-schema.ts";
import { type ProviderInfo, providerInfo } from "./providers/provider-info.ts";
import type { ResolvedProvider } from "./providers/providers.ts";
import {
  type AttemptListener,
  type AttemptResult,
  brokenUsage,
  countReceived,
  sendWithRetries,
} from "./send-with-retries.ts";
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
  const url = messagesUrl(provider.baseUrl, provider.dialect, model);
  const info = providerInfo(provider, model);
  const wire: Wire = {
    options,
    info,
    url,
    random: options.random ?? Math.random,
    policy: { ...defaultRetryPolicy, ...options.retry },
    connections,
  };
  const refuses = `${url.href} ${model}`;
  return {
    describe: () => (modelsWithoutCompaction.has(refuses) ? { ...description, compacts: undefined } : description),
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

function callWithRetries(wire: Wire, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
  const { options, policy, random } = wire;
  const send = sender(wire, request);
  const fallback = createFallback(wire, request);
  const attempt = async (sent: ModelRequest, { emit, taken }: AttemptListener): Promise<AttemptResult> => {
    const received = countReceived(emit);
    const reader = readerFor(wire, request, received.emit);
    let progress: Progress = "unsent";
    const end = await send(reader, sent, {
      body: fallback.current(),
      onSent: () => {
        if (progress === "unsent") progress = "sent";
      },
      onTaken: () => {
        progress = "accepted";
        taken();
      },
    });
    if (end.kind === "complete") {
      const answer = reader.answer();
      fallback.answered(answer);
      return { kind: "complete", answer };
    }
    const reported = reader.usage();
    const spent = isBilled(progress, end) ? brokenUsage(reported, received.characters(), sent) : undefined;
    return { ...end, partial: reader.partial(), spent };
  };
  const route = { limiter: options.limiter, policy, random, attempt, adapts: fallback.isRefused };
  return sendWithRetries(route, request, emit);
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
      ...commonHeaders(provider, parts.summaryInstructions !== undefined || prompt.isCompacted?.() === true),
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
/** Models that rejected a request to summarize a conversation, each with the URL of its server. */
const modelsWithoutCompaction = new Set<string>();

/** Errors of servers that refuse to return summaries of the thinking. */
const refusals: Partial<Record<Dialect, RegExp>> = {
  anthropic: /\badaptive\b|thinking\.display|thinking: extra inputs|\bunknown\b.{0,80}\b(?:thinking|display)\b/i,
  responses: /reasoning[ _.]summar/i,
  gemini: /thinking is not (enabled|supported)|include_?thoughts|\bunknown\b.{0,80}thinking/i,
};

/**
 * Decides whether a request asks the provider to enforce the schema of the answer, which not all servers and models can
 * do, and for summaries of the thinking, which OpenAI refuses to organizations that it has not verified, and some
 * gateways to every client.
 */
function createFallback({ url, info, options }: Wire, { answerSchema, summaryInstructions, prompt }: ModelRequest) {
  const name = `${url.href} ${info.model}`;
  let schema = answerSchema && !modelsWithoutSchemas.has(name) ? enforceableSchema(answerSchema) : undefined;
  let wasRefused = false;
  const { dialect } = options.provider;
  const asks = dialect !== "anthropic" || prompt.head.thinking !== undefined;
  const refusedSummaries = asks ? refusals[dialect] : undefined;
  return {
    current: (): BodyOptions => ({
      answerSchema: schema,
      withoutSummaries: modelsWithoutSummaries.has(name) || undefined,
      summaryInstructions,
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
      if (summaryInstructions !== undefined) modelsWithoutCompaction.add(name);
      if (schema === undefined) return false;
      schema = undefined;
      wasRefused = true;
      return true;
    },
    answered({ message }: CompleteAnswer): void {
      // A server that ignores what it does not know responds as to any other request.
      const isIgnored = summaryInstructions !== undefined && message.content.some(({ type }) => type !== "opaque");
      if (isIgnored) modelsWithoutCompaction.add(name);
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
  gemini: createGeminiReader,
};
