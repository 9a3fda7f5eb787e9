import { compactionPrompt } from "../agents/index.ts";
import type { Chain } from "../conversation/index.ts";
import { estimateTokens } from "../lib/index.ts";
import type { ModelProgress, Prompt } from "../ports/index.ts";
import { costOf, type EventOf, type ModelOutcome, paidUsage, textOf, type UserMessage } from "../protocol/index.ts";
import { estimateRequest } from "./estimate-request.ts";
import type { RunHost } from "./run-host.ts";

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
  const prompt = summaryPrompt(conversation, count);
  const estimate = estimateRequest({ head: prompt.head, last: prompt, added: undefined }, model.describe());
  const goOn = clocks.pause();
  const reserved = await budget.reserveInTurn(estimate, outlet.signal).finally(goOn);
  if (reserved.refused) return { ok: false, problem: reserved.message, spent: {} };
  const startedAt = clock.monotonic();
  const outcome = await callWithin(host, prompt, timeLimitMs);
  const usage = outcome.ok ? paidUsage(outcome) : outcome.usage;
  const { prices } = model.describe();
  const cost = prices && usage ? { costUsd: costOf(usage, prices) } : {};
  if (usage) reserved.settle({ usage, ...cost });
  else reserved.cancel();
  const milliseconds = Math.round(clock.monotonic() - startedAt);
  const spent: Spent = { ...(usage ? { usage } : {}), ...cost, milliseconds };
  const problem = problemOf(outcome, { room, timeLimitMs });
  if (problem !== undefined || !outcome.ok) return { ok: false, problem: problem ?? "it failed", spent };
  const text = textOf(outcome.message.content).trim();
  const isCut = outcome.stopReason === "max_tokens";
  return { ok: true, text: isCut ? `${text}\n[Cut at the output limit.]` : text, spent };
}

/** Time that is spent waiting for the provider to take the request does not count. */
async function callWithin(
  { services, thread, outlet, clocks }: RunHost,
  prompt: Prompt,
  timeLimitMs: number,
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
  const outcome = await services.model.call({ prompt, callId, signal: own.signal }, heed);
  clearTimeout(timer);
  goOn?.();
  outlet.signal.removeEventListener("abort", giveUp);
  return outcome;
}

/** The same bytes as in requests before, so that they are read from the provider's cache, and the question behind them. */
function summaryPrompt(conversation: Chain, count: number): Prompt {
  const { head } = conversation;
  const last = conversation.messages()[count - 1];
  const merges = last?.role === "user";
  const chain = conversation
    .until(merges ? count - 1 : count)
    .withHead({ ...head, maxTokens: Math.min(head.maxTokens, SUMMARY_TOKENS + (head.thinking?.budgetTokens ?? 0)) });
  const question: UserMessage = { role: "user", content: [{ type: "text", text: compactionPrompt }] };
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
