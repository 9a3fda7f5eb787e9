import type { ModelProgress, ModelRequest } from "../ports/index.ts";
import { type AssistantBlock, addUsage, type ModelOutcome, noUsage, type Usage } from "../protocol/index.ts";
import type { CompleteAnswer } from "./answer.ts";
import type { Limiter, Pass } from "./limits/limiter.ts";
import { decideRetry, type RetryPolicy } from "./limits/retry.ts";
import type { Failure } from "./transport/failure.ts";

/** How requests reach a model: over HTTP, or through a model that a program supplies. */
export interface Route {
  readonly limiter: Limiter;
  readonly policy: RetryPolicy;
  readonly random: () => number;
  /** Sends a request once. A failure is a result; a rejection is a bug. */
  attempt(request: ModelRequest, listener: AttemptListener): Promise<AttemptResult>;
  /** Returns true if the next attempt leaves out what may have caused a failure, so that it is made at once. */
  adapts?(failure: Failure): boolean;
}

export interface AttemptListener {
  readonly emit: (progress: ModelProgress) => void;
  /** Call this when the provider has accepted the request, that is, when the response begins. */
  readonly taken: () => void;
}

export type AttemptResult =
  | { readonly kind: "complete"; readonly answer: CompleteAnswer }
  | (LostAnswer & ({ readonly kind: "aborted" } | { readonly kind: "failed"; readonly failure: Failure }));

interface LostAnswer {
  /** Text and thinking received before the failure. */
  readonly partial: readonly AssistantBlock[];
  /** Usage that the provider bills. */
  readonly spent?: Usage | undefined;
}

/** Sends a request when the limiter allows it, and again after failures that may be temporary. */
export async function sendWithRetries(
  route: Route,
  request: ModelRequest,
  emit: (progress: ModelProgress) => void,
): Promise<ModelOutcome> {
  const { limiter, policy, random } = route;
  const { signal } = request;
  const ticket = limiter.ticket();
  const lost = createLost();
  let { maxTokens, prompt, withoutThinking } = request;
  for (let tries = 1; ; tries += 1) {
    const pass = await limiter.enter(ticket, signal, () => emit({ type: "waiting", for: "rateLimit" }));
    if (pass === undefined) return lost.aborted();
    const result = await sendOnce(route, { ...request, prompt, maxTokens, withoutThinking }, { emit, pass });
    if (result.kind === "complete") {
      pass.leave({ kind: "answered" });
      return lost.before(result.answer);
    }
    lost.add(result);
    if (result.kind === "aborted") {
      pass.leave({ kind: "failed" });
      return lost.aborted();
    }
    const { failure, spent } = result;
    const bare = failure.error.code === "thinking_refused" ? await withoutThinking?.() : undefined;
    if (bare) {
      prompt = bare;
      withoutThinking = undefined;
    }
    const decision =
      bare || route.adapts?.(failure)
        ? { again: true as const, delayMs: 0, maxAttempts: tries + 1 }
        : decideRetry(failure, { attempt: tries, policy, random });
    if (!decision.again) {
      pass.leave({ kind: "failed" });
      return lost.outcome(decision.failure.error);
    }
    const { delayMs, maxAttempts } = decision;
    const { status = null, message: error } = failure.error;
    emit({ type: "retried", retry: { attempt: tries, maxAttempts, delayMs, status, error }, lost: spent });
    pass.leave({ kind: failure.pushback ?? "failed", waitMs: delayMs });
    const next = spent && request.repeat ? await request.repeat(spent) : maxTokens;
    if (typeof next !== "number") return lost.outcome({ code: "budget", message: next.message });
    maxTokens = next;
  }
}

async function sendOnce(
  route: Route,
  request: ModelRequest,
  { emit, pass }: { readonly emit: AttemptListener["emit"]; readonly pass: Pass },
): Promise<AttemptResult> {
  try {
    emit({ type: "sent" });
    return await route.attempt(request, { emit, taken: () => pass.taken() });
  } catch (bug) {
    pass.leave({ kind: "failed" });
    throw bug;
  }
}

/** Counts the received characters of a response. */
export function countReceived(emit: AttemptListener["emit"]): {
  readonly emit: AttemptListener["emit"];
  readonly characters: () => number;
} {
  let characters = 0;
  const counting: AttemptListener["emit"] = (progress) => {
    if ("text" in progress) characters += progress.text.length;
    if ("json" in progress) characters += progress.json.length;
    emit(progress);
  };
  return { emit: counting, characters: () => characters };
}

const CHARACTERS_PER_TOKEN = 4;

/**
 * Returns the usage of a response that broke off after this number of characters, which may be before the provider
 * reported any usage.
 */
export function brokenUsage(
  reported: Usage | undefined,
  characters: number,
  { prompt, promptTokens = 0 }: ModelRequest,
): Usage {
  const received = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  const inputTokens = () => {
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
    add({ partial: blocks, spent }: LostAnswer): void {
      const length = blocks.reduce((sum, block) => sum + ("text" in block ? block.text.length : 0), 0);
      if (length > longest) {
        longest = length;
        partial = blocks;
      }
      if (spent) usage = usage ? addUsage(usage, spent) : spent;
    },
    before: (answer: CompleteAnswer): ModelOutcome => {
      if (usage === undefined) return answer;
      return { ...answer, lostUsage: answer.lostUsage ? addUsage(usage, answer.lostUsage) : usage };
    },
    outcome,
    aborted: () => outcome({ code: "aborted", message: "The request was stopped. Resume the session to continue." }),
  };
}
