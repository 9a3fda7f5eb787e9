import { type Chain, summaryIn } from "../../conversation/index.ts";
import { estimateTokens } from "../../lib/index.ts";
import { expectedTokens, mostExpectedTokens } from "../../loop/index.ts";
import type { ModelProgress, ModelRequest, Prompt } from "../../ports/index.ts";
import {
  type EventOf,
  type ModelOutcome,
  noUsage,
  type OpaqueBlock,
  textOf,
  type UserMessage,
} from "../../protocol/index.ts";
import { estimateRequest, longestAnswer, reservedSpend } from "../budget/estimate-request.ts";
import { createRequestBill } from "../budget/request-bill.ts";
import { dropThinking } from "../host/ask-model.ts";
import { whileDelayed } from "../host/delays.ts";
import type { RunHost } from "../host/run-host.ts";
import { headSize } from "./context-limits.ts";

export interface SummaryRequest {
  /** Number of messages to summarize, from the first. */
  readonly count: number;
  /** Number of tokens that the conversation may use. */
  readonly room: number;
  readonly timeLimitMs: number;
  /** Message that asks for the summary. */
  readonly question: UserMessage;
  /** Whether the provider writes the summary, as a block that stands for the messages. */
  readonly isProvided?: boolean;
}

/**
 * Maximum length of a summary in tokens. Tokens that are not reserved for the summary are available for the
 * conversation.
 */
const SUMMARY_TOKENS = 8_000;
/** Maximum length of a summary, as a share of the conversation's tokens. */
const SUMMARY_SHARE = 0.25;

export type Summary = { readonly spent: SummaryCost } & (
  | { readonly ok: true; readonly text: string; readonly block?: OpaqueBlock }
  | {
      readonly ok: false;
      readonly problem: string;
      /** Whether the model can be asked for the summary that the provider did not write. */
      readonly canRepeat?: boolean;
    }
);
type SummaryCost = Pick<EventOf<"conversation.compacted">, "usage" | "costUsd" | "milliseconds">;

/**
 * Asks the agent's own model for a summary, within the agent's budget and a time limit. Tool calls in the response are
 * not run.
 */
export async function requestSummary(
  host: RunHost,
  conversation: Chain,
  { count, room, timeLimitMs, question, isProvided }: SummaryRequest,
): Promise<Summary> {
  // The conversation contains only the first prompt.
  if (count < 2) return { ok: false, problem: "there is no response to summarize yet", spent: {} };
  const { services, outlet } = host;
  const { budget, model, clock } = services;
  const { head } = conversation;
  const description = model.describe();
  const { context } = host.thread.state;
  const estimate = estimateRequest(
    {
      inputTokens: mostExpectedTokens(context, headSize(head), question),
      maxTokens: Math.min(longestAnswer(description), SUMMARY_TOKENS),
      cacheLifetime: head.cacheLifetime,
    },
    description,
  );
  const reservation = await whileDelayed(host, "budget", (onWait) =>
    budget.reserveInTurn(estimate, outlet.signal, onWait),
  );
  if (reservation.refused) return { ok: false, problem: reservation.message, spent: {} };
  await host.record([
    { type: "spend.reserved", request: "compaction", reserved: reservedSpend(estimate, reservation) },
  ]);
  const startedAt = clock.monotonic();
  const bill = createRequestBill(description.prices);
  const promptOf = (chain: Chain): Prompt =>
    isProvided ? chain.until(count).request() : summaryPrompt(chain, count, question);
  const outcome = await callWithin(host, timeLimitMs, {
    prompt: promptOf(conversation),
    summaryInstructions: isProvided ? textOf(question.content) : undefined,
    maxTokens: reservation.answerTokens,
    promptTokens: Math.min(estimate.inputTokens, expectedTokens(context, headSize(head), question)),
    repeat: (lost) => reservation.repeat(bill.addLost(lost), outlet.signal),
    withoutThinking: async () => {
      await dropThinking(host);
      const bare = host.thread.conversation;
      return bare === undefined || bare === conversation ? undefined : promptOf(bare);
    },
  });
  const total = bill.total(outcome);
  if (total) reservation.settle(total);
  else reservation.cancel();
  const milliseconds = Math.round(clock.monotonic() - startedAt);
  const spent: SummaryCost = { ...total, milliseconds };
  const provided = isProvided ? providedBlock(outcome) : undefined;
  const canRepeat = isProvided && provided === undefined && isNotProvided(outcome);
  // A stopped run records no compaction, and neither does an attempt that is repeated, so the cost is recorded in a
  // separate line.
  if (outlet.signal.aborted || (canRepeat && total))
    await host.record([{ type: "spend.recorded", usage: noUsage, ...total }]);
  if (canRepeat) return { ok: false, problem: whyNotProvided(outcome), canRepeat, spent: {} };
  if (provided && outcome.ok) return { ok: true, ...provided, spent };
  const problem = problemOf(outcome, { room, timeLimitMs });
  if (problem !== undefined || !outcome.ok) return { ok: false, problem: problem ?? "it failed", spent };
  const text = textOf(outcome.message.content).trim();
  const isCut = outcome.stopReason === "max_tokens";
  return { ok: true, text: isCut ? `${text}\n[Cut at the output limit.]` : text, spent };
}

/** Calls the model with a time limit. Time before the request is sent is not counted. */
async function callWithin(
  { services, thread, outlet, clocks }: RunHost,
  timeLimitMs: number,
  request: Omit<ModelRequest, "callId" | "signal">,
): Promise<ModelOutcome> {
  const own = new AbortController();
  const giveUp = (): void => own.abort();
  outlet.signal.addEventListener("abort", giveUp);
  if (outlet.signal.aborted) giveUp();
  let timer: NodeJS.Timeout | undefined = setTimeout(giveUp, timeLimitMs);
  let resume: (() => void) | undefined;
  const onProgress = ({ type }: ModelProgress): void => {
    const waits = type === "waiting" || type === "retried";
    if (waits === (resume !== undefined)) return;
    clearTimeout(timer);
    resume?.();
    resume = waits ? clocks.pause() : undefined;
    timer = waits ? undefined : setTimeout(giveUp, timeLimitMs);
  };
  const callId = (index: number): string => `${thread.agentId}_compaction_${thread.state.turn}_${index}`;
  const outcome = await services.model.call({ ...request, callId, signal: own.signal }, onProgress);
  clearTimeout(timer);
  resume?.();
  outlet.signal.removeEventListener("abort", giveUp);
  return outcome;
}

function providedBlock(outcome: ModelOutcome): { readonly block: OpaqueBlock; readonly text: string } | undefined {
  const blocks = outcome.ok ? outcome.message.content : [];
  for (const block of blocks) {
    const text = block.type === "opaque" ? summaryIn(block) : undefined;
    if (text !== undefined && block.type === "opaque") return { block, text };
  }
  return undefined;
}

/** Returns whether the provider does not offer summaries, or has written none. */
function isNotProvided(outcome: ModelOutcome): boolean {
  if (outcome.ok) return outcome.stopReason !== "refusal";
  return outcome.error.code === "bad_request" || outcome.error.code === "unsupported";
}

function whyNotProvided(outcome: ModelOutcome): string {
  return outcome.ok ? "it wrote none" : outcome.error.message;
}

/**
 * Appends the request for a summary to the bytes of earlier requests, so that the provider can read the earlier bytes
 * from its cache.
 */
function summaryPrompt(conversation: Chain, count: number, question: UserMessage): Prompt {
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
  if (text.trim() === "") return "the model wrote no summary";
  if (estimateTokens(text) > room * SUMMARY_SHARE) return "the model's summary was too long";
  return undefined;
}
