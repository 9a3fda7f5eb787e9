import { compactionPrompt } from "../../agents/index.ts";
import type { Chain } from "../../conversation/index.ts";
import { estimateTokens } from "../../lib/index.ts";
import { mostExpectedTokens } from "../../loop/index.ts";
import type { ModelProgress, ModelRequest, Prompt } from "../../ports/index.ts";
import {
  costOf,
  type EventOf,
  type ModelOutcome,
  noUsage,
  paidUsage,
  textOf,
  type Usage,
  type UserMessage,
} from "../../protocol/index.ts";
import { estimateRequest, longestAnswer, reservedSpend } from "../budget/estimate-request.ts";
import type { RunHost } from "../host/run-host.ts";
import { headSize } from "./context-limits.ts";

export interface SummaryWish {
  /** So many of the first messages. */
  readonly count: number;
  /** Tokens that a conversation may fill. */
  readonly room: number;
  readonly timeLimitMs: number;
}

/** A summary needs no more, and what is not reserved for it leaves room for what it is about. */
const SUMMARY_TOKENS = 8_000;
const SUMMARY_SHARE = 0.25;

export type Summary = { readonly spent: Spent } & (
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string }
);
type Spent = Pick<EventOf<"conversation.compacted">, "usage" | "costUsd" | "milliseconds">;

/** Asks the agent's own model, within its budget and a limit of time; calls it makes in its answer are not run. */
export async function askForSummary(
  host: RunHost,
  conversation: Chain,
  { count, room, timeLimitMs }: SummaryWish,
): Promise<Summary> {
  // Only the first request stands before it.
  if (count < 2) return { ok: false, problem: "there is no answer to sum up yet", spent: {} };
  const { services, outlet, clocks } = host;
  const { budget, model, clock } = services;
  const { head } = conversation;
  const description = model.describe();
  const thinkingTokens = head.thinking?.budgetTokens ?? 0;
  const estimate = estimateRequest(
    {
      inputTokens: mostExpectedTokens(host.thread.state.context, headSize(head), question),
      maxTokens: Math.min(longestAnswer(description), SUMMARY_TOKENS + thinkingTokens),
      thinkingTokens,
      cacheLifetime: head.cacheLifetime,
    },
    description,
  );
  const resume = clocks.pause();
  const reservation = await budget.reserveInTurn(estimate, outlet.signal).finally(resume);
  if (reservation.refused) return { ok: false, problem: reservation.message, spent: {} };
  await host.record([
    { type: "spend.reserved", request: "compaction", reserved: reservedSpend(estimate, reservation) },
  ]);
  const startedAt = clock.monotonic();
  const { prices } = description;
  const costFor = (usage: Usage) => (prices ? { costUsd: costOf(usage, prices) } : {});
  const outcome = await callWithin(host, timeLimitMs, {
    prompt: summaryPrompt(conversation, count),
    maxTokens: reservation.answerTokens,
    repeat: (lost) => reservation.repeat({ usage: lost, ...costFor(lost) }, outlet.signal),
  });
  const usage = outcome.ok ? paidUsage(outcome) : outcome.usage;
  const cost = usage ? costFor(usage) : {};
  if (usage) reservation.settle({ usage, ...cost });
  else reservation.cancel();
  const milliseconds = Math.round(clock.monotonic() - startedAt);
  const spent: Spent = { usage, ...cost, milliseconds };
  // A run that was stopped meanwhile records no compaction, and this is the only line that tells the cost.
  if (outlet.signal.aborted) await host.record([{ type: "spend.recorded", usage: usage ?? noUsage, ...cost }]);
  const problem = problemOf(outcome, { room, timeLimitMs });
  if (problem !== undefined || !outcome.ok) return { ok: false, problem: problem ?? "it failed", spent };
  const text = textOf(outcome.message.content).trim();
  const isCut = outcome.stopReason === "max_tokens";
  return { ok: true, text: isCut ? `${text}\n[Cut at the output limit.]` : text, spent };
}

/** Time that is spent waiting for the provider to take the request does not count. */
async function callWithin(
  { services, thread, outlet, clocks }: RunHost,
  timeLimitMs: number,
  request: Pick<ModelRequest, "prompt" | "maxTokens" | "repeat">,
): Promise<ModelOutcome> {
  const own = new AbortController();
  const giveUp = (): void => own.abort();
  outlet.signal.addEventListener("abort", giveUp);
  if (outlet.signal.aborted) giveUp();
  let timer: NodeJS.Timeout | undefined = setTimeout(giveUp, timeLimitMs);
  let goOn: (() => void) | undefined;
  const heed = ({ type }: ModelProgress): void => {
    const waits = type === "waiting" || type === "retried";
    if (waits === (goOn !== undefined)) return;
    clearTimeout(timer);
    goOn?.();
    goOn = waits ? clocks.pause() : undefined;
    timer = waits ? undefined : setTimeout(giveUp, timeLimitMs);
  };
  const callId = (index: number): string => `${thread.agentId}_compaction_${thread.state.turn}_${index}`;
  const outcome = await services.model.call({ ...request, callId, signal: own.signal }, heed);
  clearTimeout(timer);
  goOn?.();
  outlet.signal.removeEventListener("abort", giveUp);
  return outcome;
}

const question: UserMessage = { role: "user", content: [{ type: "text", text: compactionPrompt }] };

/** The same bytes as in requests before, so that they are read from the provider's cache, and the question behind them. */
function summaryPrompt(conversation: Chain, count: number): Prompt {
  const last = conversation.messages()[count - 1];
  const merges = last?.role === "user";
  const chain = conversation.until(merges ? count - 1 : count);
  chain.append(merges ? { role: "user", content: [...last.content, ...question.content] } : question);
  return chain.request();
}

function problemOf(
  outcome: ModelOutcome,
  { room, timeLimitMs }: { readonly room: number; readonly timeLimitMs: number },
): string | undefined {
  if (!outcome.ok) {
    if (outcome.error.code === "aborted") return `the model took longer than ${Math.round(timeLimitMs / 1_000)} s`;
    return outcome.error.message;
  }
  const text = textOf(outcome.message.content);
  if (outcome.stopReason === "refusal") return "the model refused";
  if (text.trim() === "") return "the model wrote none";
  if (estimateTokens(text) > room * SUMMARY_SHARE) return "the model's was too long";
  return undefined;
}
