import type { Clock, Model, ModelProgress, ModelRequest } from "../ports/index.ts";
import type { AssistantBlock, ModelOutcome, Usage } from "../protocol/index.ts";
import { addUsage } from "../protocol/index.ts";
import { type About, aboutProvider } from "./about.ts";
import type { AnswerReader, CompleteAnswer } from "./answer.ts";
import { createAnthropicReader } from "./anthropic-reader.ts";
import { type AttemptEnd, attempt } from "./attempt.ts";
import { type Connections, sharedConnections } from "./connections.ts";
import { type Delay, realDelay } from "./delay.ts";
import { describeModel } from "./describe-model.ts";
import { messagesUrl } from "./endpoint.ts";
import { failure } from "./failure.ts";
import { lengthOf } from "./http/write-request.ts";
import type { Limiter, Pass } from "./limiter.ts";
import { createOpenaiReader } from "./openai-reader.ts";
import type { ResolvedProvider } from "./resolved-provider.ts";
import { decideRetry, defaultRetryPolicy, type RetryPolicy } from "./retry.ts";

export interface WireModelOptions {
  readonly provider: ResolvedProvider;
  readonly model: string;
  /** One per provider, shared by everything in the process. */
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly delay?: Delay;
  readonly connections?: Connections;
  readonly retry?: Partial<RetryPolicy>;
  /** How long the server may be silent, before the headers as well. */
  readonly idleMs?: number;
  readonly maxAnswerBytes?: number;
}

/** A model behind HTTP. Never rejects for what a server or network does. */
export function createWireModel(options: WireModelOptions): Model {
  const { provider, model, connections = sharedConnections() } = options;
  const description = describeModel(provider, model);
  const url = messagesUrl(provider.baseUrl, provider.dialect);
  const about = aboutProvider(provider, model);
  const wire: Wire = {
    options,
    about,
    url,
    random: options.random ?? Math.random,
    delay: options.delay ?? realDelay,
    policy: { ...defaultRetryPolicy, ...options.retry },
    connections,
  };
  // Loading the transport takes longer than anything else before the first request.
  void connections.prepare(url);
  return {
    describe: () => description,
    call: (request, emit) => callWithRetries(wire, request, emit),
  };
}

interface Wire {
  readonly options: WireModelOptions;
  readonly about: About;
  readonly url: URL;
  readonly random: () => number;
  readonly delay: Delay;
  readonly policy: RetryPolicy;
  readonly connections: Connections;
}

type Emit = (progress: ModelProgress) => void;

async function callWithRetries(wire: Wire, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
  const { options, policy, random, delay } = wire;
  const { limiter } = options;
  const { signal } = request;
  const ticket = limiter.ticket();
  const lost = createLost();
  const send = sender(wire, request, () => emit({ type: "gone" }));
  for (let tries = 1; ; tries += 1) {
    emit({ type: "waiting" });
    const pass = await limiter.enter(ticket, signal);
    if (pass === undefined) return lost.aborted();
    emit({ type: "sent" });
    const reader = readerFor(wire, request, emit);
    const end = await sendOnce(pass, () => send(reader, () => pass.taken()));
    if (end.kind === "complete") {
      pass.leave({ kind: "answered" });
      return lost.before(reader.answer());
    }
    lost.add(reader);
    if (end.kind !== "failed") {
      pass.leave({ kind: "failed" });
      return lost.aborted();
    }
    const { throttled } = end.failure;
    const decision = decideRetry(end.failure, { attempt: tries, policy, random });
    if (!decision.again) {
      pass.leave({ kind: "failed" });
      return lost.outcome(decision.failure.error);
    }
    const { delayMs, maxAttempts } = decision;
    const { status = null, message: error } = end.failure.error;
    emit({ type: "retried", retry: { attempt: tries, maxAttempts, delayMs, status, error } });
    // Who was throttled waits in the limiter's queue, where it keeps its place; everybody else waits there too.
    pass.leave(throttled ? { kind: "throttled", holdMs: delayMs } : { kind: "failed" });
    if (!throttled) await delay(delayMs, signal);
  }
}

async function sendOnce(pass: Pass, send: () => Promise<AttemptEnd>): Promise<AttemptEnd> {
  try {
    return await send();
  } catch (bug) {
    pass.leave({ kind: "failed" });
    throw bug;
  }
}

const staleTries = 5;

function sender(
  wire: Wire,
  { prompt, signal }: ModelRequest,
  onGone: () => void,
): (reader: AnswerReader, onTaken: () => void) => Promise<AttemptEnd> {
  const { options, about, url, connections } = wire;
  const { provider, clock, idleMs = 300_000, maxAnswerBytes = 32_000_000 } = options;
  const body = prompt.body(provider.dialect);
  const headers = headersFor(provider, lengthOf(body));
  return async (reader, onTaken) => {
    const connector = await connections.prepare(url);
    for (let tries = 1; ; tries += 1) {
      const now = () => clock.now();
      const all = {
        connector,
        url,
        headers,
        body,
        reader,
        signal,
        idleMs,
        maxAnswerBytes,
        about,
        now,
        onGone,
        onTaken,
      };
      const end = await attempt(all);
      if (end.kind !== "stale") return end;
      if (tries < staleTries) continue;
      const message = `${about.provider} (${about.host}) closes every connection; check the network and any gateway in between.`;
      return { kind: "failed", failure: failure("connection", { message, retry: "yes" }) };
    }
  };
}

function headersFor(provider: ResolvedProvider, length: number): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "text/event-stream",
    "accept-encoding": "identity",
    "user-agent": "retinue",
    ...(provider.dialect === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
    ...provider.secretHeaders(),
    "content-length": String(length),
  };
}

function readerFor({ options, about }: Wire, { callId, prompt }: ModelRequest, emit: Emit): AnswerReader {
  const origin = { provider: about.provider, model: about.model };
  const make = options.provider.dialect === "anthropic" ? createAnthropicReader : createOpenaiReader;
  return make({ origin, callId, emit, cacheLifetime: prompt.head.cacheLifetime });
}

/** What failed tries leave behind: the longest partial answer, and every token that was paid for. */
function createLost() {
  let partial: readonly AssistantBlock[] = [];
  let longest = 0;
  let usage: Usage | undefined;
  const outcome = (error: Extract<ModelOutcome, { ok: false }>["error"]): ModelOutcome => ({
    ok: false,
    error,
    partial,
    ...(usage === undefined ? {} : { usage }),
  });
  return {
    add(reader: AnswerReader): void {
      const blocks = reader.partial();
      const length = blocks.reduce((sum, block) => sum + ("text" in block ? block.text.length : 0), 0);
      if (length > longest) {
        longest = length;
        partial = blocks;
      }
      const spent = reader.usage();
      if (spent) usage = usage ? addUsage(usage, spent) : spent;
    },
    before: (answer: CompleteAnswer): ModelOutcome => (usage === undefined ? answer : { ...answer, lostUsage: usage }),
    outcome,
    aborted: () => outcome({ code: "aborted", message: "The request was stopped; resume to go on." }),
  };
}
