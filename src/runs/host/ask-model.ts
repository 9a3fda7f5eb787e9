import { cacheDifference, SERIALIZER_VERSION, type WrittenPrompt } from "../../conversation/index.ts";
import { expectedTokens, mostExpectedTokens, turnsLeft, userTurn } from "../../loop/index.ts";
import type { ModelProgress } from "../../ports/index.ts";
import {
  type DurableEvent,
  type InputTransformation,
  type JsonSchema,
  type ModelOutcome,
  noUsage,
  type ReservedSpend,
  runtimeText,
  type Usage,
} from "../../protocol/index.ts";
import type { BudgetRefusal, Reservation } from "../budget/budget.ts";
import type { LimitText } from "../budget/budget-text.ts";
import { estimateRequest, longestAnswer, reservedSpend } from "../budget/estimate-request.ts";
import { createRequestBill, type RequestBill } from "../budget/request-bill.ts";
import { headSize } from "../compaction/context-limits.ts";
import { beginDelay, whileDelayed } from "./delays.ts";
import { environmentEvents } from "./environment.ts";
import { endedInBackground } from "./notices.ts";
import type { RunHost } from "./run-host.ts";

/** Sends one request and records the response. Returns a refusal if the budget has no room for the request. */
export async function askModel(host: RunHost, turn: number): Promise<BudgetRefusal | undefined> {
  const { services, thread, request, outlet } = host;
  const { budget, model } = services;
  const { head } = request.agent;
  const description = model.describe();
  const schema = correctedSchema(host);
  // JSON text has at least two characters per token, so this is an upper bound.
  const schemaTokens = schema === undefined ? 0 : Math.ceil(JSON.stringify(schema).length / 2);
  const { context } = thread.state;
  const newTurn = userTurn(thread.state);
  const inputTokens = mostExpectedTokens(context, headSize(head), newTurn) + ADDED_TOKENS + schemaTokens;
  const promptTokens = Math.min(inputTokens, expectedTokens(context, headSize(head), newTurn));
  const { cacheLifetime } = head;
  const estimate = estimateRequest({ inputTokens, maxTokens: longestAnswer(description), cacheLifetime }, description);
  const reservation = await whileDelayed(host, "budget", (onWait) =>
    budget.reserveInTurn(estimate, outlet.signal, onWait),
  );
  if (reservation.refused) return reservation;
  try {
    await callModel(host, turn, { reservation, reserved: reservedSpend(estimate, reservation), promptTokens });
    return undefined;
  } finally {
    // After an exception, this releases the unspent amount.
    reservation.cancel();
  }
}

/** Tokens reserved for text that the runtime adds to a turn after its cost was estimated. */
const ADDED_TOKENS = 200;

interface Reserved {
  readonly reservation: Reservation;
  readonly reserved: ReservedSpend;
  readonly promptTokens: number;
}

async function callModel(
  host: RunHost,
  turn: number,
  { reservation, reserved, promptTokens }: Reserved,
): Promise<void> {
  const { services, thread, clocks, outlet } = host;
  const { model, clock } = services;
  const prompt = await sealTurn(host, turn, reserved);
  const startedAt = clock.monotonic();
  const bill = createRequestBill(model.describe().prices);
  const { emit, settled } = listener(host, turn, bill);
  const { agentId, requests } = thread;
  const callId = (index: number): string => `${agentId}_${requests}_${index}`;
  clocks.modelAsked();
  const { signal } = outlet;
  const repeat = (lost: Usage) => reservation.repeat(bill.addLost(lost), signal);
  const maxTokens = reservation.answerTokens;
  const answerSchema = correctedSchema(host);
  const withoutThinking = () => dropThinking(host, turn);
  const request = { prompt, maxTokens, callId, signal, answerSchema, promptTokens, repeat, withoutThinking };
  const given = await model.call(request, emit);
  clocks.modelEnded();
  await settled();
  // A parked run sends the request again when it continues, so its partial response is not kept: a conversation that
  // ends with a response would leave the next run nothing to do.
  const isParked = signal.aborted && outlet.cause() === "parked";
  const sent = thread.newestPrompt ?? prompt;
  const outcome = given.ok
    ? { ...given, usage: countedUsage(given, sent) }
    : { ...given, partial: isParked ? [] : given.partial };
  const total = bill.total(outcome);
  if (total) reservation.settle(total);
  const milliseconds = Math.round(clock.monotonic() - startedAt);
  const fingerprint = sent.fingerprint();
  if (given.ok && given.inputTransformations?.some(isInvalidThinking)) await recordDrop(host, leftOutMessage);
  await host.record([answerEvent(outcome, { turn, costUsd: total?.costUsd, milliseconds, fingerprint })]);
}

/**
 * Returns the schema that the provider is asked to enforce. Only corrections have one: with a schema, providers read
 * nothing from their cache, and some models call no tools.
 */
function correctedSchema({ corrections = 0, request }: RunHost): JsonSchema | undefined {
  return corrections > 0 ? request.output?.schema : undefined;
}

const CHARACTERS_PER_TOKEN = 4;

/**
 * Returns the usage that a model reports, or an estimate if the model reports none, which happens with some servers.
 */
function countedUsage({ usage, message }: Extract<ModelOutcome, { ok: true }>, prompt: WrittenPrompt): Usage {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  const isCount = [inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens].every((tokens) => tokens >= 0);
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  if ((isCount && input > 0) || prompt.head.provider === "offline") return usage;
  const { dialect } = prompt.head;
  const bytes = prompt.body(dialect, 0).reduce((sum, piece) => sum + piece.length, 0);
  const received = JSON.stringify(message.content).length;
  return {
    ...noUsage,
    inputTokens: Math.ceil(bytes / CHARACTERS_PER_TOKEN),
    outputTokens: isCount && outputTokens > 0 ? outputTokens : Math.ceil(received / CHARACTERS_PER_TOKEN),
  };
}

/** Records the request and everything that belongs to its user turn. Returns the request's prompt. */
async function sealTurn(host: RunHost, turn: number, reserved: ReservedSpend): Promise<WrittenPrompt> {
  const { services, thread } = host;
  const warning = services.budget.warning();
  await host.record([
    ...(warning === undefined ? [] : warningEvents(warning)),
    ...shortAnswer(reserved),
    ...(await endedInBackground(host)),
    ...(await environmentEvents(host)),
    ...reminder(host),
    ...lastTurn(host),
    { type: "model.requested", turn, reserved },
  ]);
  const prompt = thread.newestPrompt;
  if (prompt === undefined) throw new Error("there is no conversation to send");
  const difference = host.before && cacheDifference(host.before, prompt);
  host.before = undefined;
  if (difference) await host.record([{ type: "cache.missed", ...difference, turn }]);
  return prompt;
}

/**
 * Removes all thinking from the conversation, because the provider has refused it, and tells the user. Returns the
 * prompt of the request that is sent again, if there is one; undefined if the conversation has no thinking.
 */
export async function dropThinking(host: RunHost, turn?: number): Promise<WrittenPrompt | undefined> {
  const { thread } = host;
  const { newestPrompt: before } = thread;
  if (!(await recordDrop(host, refusedMessage, turn))) return undefined;
  const prompt = thread.newestPrompt;
  const difference = turn === undefined || !before || !prompt ? undefined : cacheDifference(before, prompt);
  if (turn !== undefined && difference) await host.record([{ type: "cache.missed", ...difference, turn }]);
  return prompt;
}

const refusedMessage = (provider: string): string =>
  `${provider} refused the model's earlier thinking, because something before it has changed. The request was sent again without it, and later requests leave it out too.`;
const leftOutMessage = (provider: string): string =>
  `${provider} left out the model's earlier thinking, because something before it has changed. Later requests leave it out too.`;

/** Records that the conversation has no thinking any more. Returns false if it has none. */
async function recordDrop(host: RunHost, message: (provider: string) => string, turn?: number): Promise<boolean> {
  const { conversation, newestPrompt } = host.thread;
  if (!conversation?.hasThinking) return false;
  await host.record([
    { type: "thinking.dropped", resends: turn, serializer: SERIALIZER_VERSION },
    { type: "notice.raised", code: "thinking", message: message(conversation.head.provider) },
  ]);
  if (turn === undefined) host.before ??= newestPrompt;
  return true;
}

/** Returns whether the provider has left out thinking because something before it is not as it was. */
function isInvalidThinking({ type, reason }: InputTransformation): boolean {
  return type === "thinking_dropped" && reason === "prefix_binding_mismatch";
}

function warningEvents({ cause, message }: LimitText): DurableEvent[] {
  return [
    { type: "notice.raised", code: "budget", message },
    { type: "context.added", cause: "budget", text: runtimeText(`${cause} Finish your work soon.`) },
  ];
}

/**
 * Tells the model how long its response can be if the budget is almost used up. A short complete response is more
 * useful than one that is cut off.
 */
function shortAnswer({ shortened, outputTokens }: ReservedSpend): DurableEvent[] {
  if (!shortened || outputTokens >= SHORT_ANSWER) return [];
  const text = `The budget is almost used up: this response can have at most ${outputTokens} tokens. Give your result now.`;
  return [{ type: "context.added", cause: "budget", text: runtimeText(text) }];
}

/** If fewer tokens than this are left, Retinue tells the model how long its response can be. */
const SHORT_ANSWER = 4_096;

/**
 * Returns the agent's critical reminder for this user turn. Returns nothing if there is no user turn, as when a paused
 * response is continued.
 */
function reminder({ request, thread }: RunHost): DurableEvent[] {
  const { criticalReminder } = request.agent;
  const { calls, said } = thread.state;
  if (criticalReminder === undefined || calls.length + said.length === 0) return [];
  return [{ type: "context.added", cause: "reminder", text: runtimeText(criticalReminder) }];
}

/** Tells an agent in its last turn to give its answer now, because it would not see the results of more calls. */
function lastTurn({ thread }: RunHost): DurableEvent[] {
  const { run, calls, said } = thread.state;
  if (run === undefined || turnsLeft(run) !== 1 || calls.length + said.length === 0) return [];
  const which = run.maxTurns === 1 ? "your only turn" : `the last of your ${run.maxTurns} turns`;
  const text = `This is ${which} in this run. Do not call tools: you would not see their results. Give your answer now, and say what is left to do.`;
  return [{ type: "context.added", cause: "turns", text: runtimeText(text) }];
}

/**
 * Handles the progress of a request. The clocks are paused while the request waits to be sent. Call `settled` after the
 * response.
 */
function listener(
  host: RunHost,
  turn: number,
  bill: RequestBill,
): { emit: (progress: ModelProgress) => void; settled: () => Promise<unknown> } {
  const { clocks, outlet } = host;
  let recorded: Promise<unknown> = Promise.resolve();
  let resume: (() => void) | undefined;
  let endDelay: (() => Promise<void>) | undefined;
  let isRetried = false;
  const record = (line: DurableEvent): void => {
    recorded = Promise.all([recorded, host.record([line])]);
  };
  const proceed = (): void => {
    resume?.();
    if (endDelay) recorded = Promise.all([recorded, endDelay()]);
    endDelay = undefined;
  };
  return {
    emit: (progress) => {
      proceed();
      resume = progress.type === "waiting" || progress.type === "retried" ? clocks.pause() : undefined;
      // After a retry, no delay is recorded, because the `model.retried` line already says why the request waits.
      if (progress.type === "waiting" && progress.for !== undefined && !isRetried)
        endDelay = beginDelay(host, progress.for);
      isRetried = progress.type === "retried";
      clocks.modelMoved();
      if (progress.type === "waiting" || progress.type === "sent") return;
      if (progress.type === "notice")
        return record({ type: "notice.raised", code: "model", message: progress.message });
      if (progress.type !== "retried") return outlet.emit({ ...progress, turn });
      const { retry, lost } = progress;
      record({ type: "model.retried", turn, retry, ...(lost && bill.costOf(lost)) });
    },
    settled: () => {
      proceed();
      return recorded;
    },
  };
}

interface AnswerFacts {
  readonly turn: number;
  readonly costUsd?: number | undefined;
  readonly milliseconds: number;
  readonly fingerprint: string;
}

function answerEvent(outcome: ModelOutcome, { turn, ...facts }: AnswerFacts): DurableEvent {
  if (!outcome.ok) {
    const { error, partial, usage } = outcome;
    return { type: "model.failed", turn, error, partial, usage, ...facts };
  }
  const { message, stopReason, incompleteCalls, usage, lostUsage, inputTransformations } = outcome;
  const answer = { message, stopReason, incompleteCalls, usage, lostUsage, inputTransformations };
  return { type: "model.ended", turn, ...answer, ...facts };
}
