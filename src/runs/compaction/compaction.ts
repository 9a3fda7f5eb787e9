import { compactionPrompt } from "../../agents/index.ts";
import { type Chain, canFollowSummary, sendsThinking, withoutThinking } from "../../conversation/index.ts";
import { boundText, estimateTokens } from "../../lib/index.ts";
import {
  estimated,
  expectedTokens,
  type LoopState,
  mostExpectedTokens,
  sizeOf,
  userTurn,
  withToldCalls,
} from "../../loop/index.ts";
import type { ModelProgress, ModelRequest, Prompt } from "../../ports/index.ts";
import {
  type DurableEvent,
  type EventOf,
  type Message,
  type ModelOutcome,
  noUsage,
  textOf,
  type UserMessage,
} from "../../protocol/index.ts";
import { estimateRequest, longestAnswer, reservedSpend } from "../budget/estimate-request.ts";
import { createRequestBill } from "../budget/request-bill.ts";
import { headAfterCompaction } from "../head/kept-head.ts";
import { dropThinking } from "../host/ask-model.ts";
import { whileDelayed } from "../host/delays.ts";
import { currentPolicy } from "../host/plan-mode.ts";
import type { RunHost } from "../host/run-host.ts";
import { digestOf, performedCalls, recordedSummary, recordText } from "./compaction-record.ts";
import { type ContextLimits, headSize } from "./context-limits.ts";

export interface CompactionRequest {
  readonly limits: ContextLimits;
  /** Why the conversation is compacted. `asked`: the user requested it. */
  readonly cause: "full" | "overflow" | "asked";
  /** The user's instructions for the summary. */
  readonly instructions?: string | undefined;
  /** Returns the roster of the agent's subagents. */
  readonly roster?: () => Promise<string>;
  readonly timeLimitMs?: number;
}

const TIME_LIMIT_MS = 120_000;
/** Maximum share of the conversation's tokens for the newest messages, which are kept unchanged. */
const KEPT_SHARE = { full: 0.2, overflow: 0.1, asked: 0.2 };
/** Maximum share of the conversation's tokens for the record that replaces all other messages. */
const RECORD_SHARE = 0.25;
const CHARACTERS_PER_TOKEN = 3;
const LONGEST_RECORD = 60_000;

/**
 * Replaces the conversation with a summary and its newest turns. The conversation does not change until the line that
 * records the compaction is written. If the model can't write the summary, a digest is used instead. If the run is
 * stopped first, no compaction is recorded.
 */
export async function compactConversation(host: RunHost, request: CompactionRequest): Promise<void> {
  const { thread } = host;
  const { state, conversation } = thread;
  if (conversation === undefined) throw new Error("there is no conversation to compact");
  const { limits, cause } = request;
  const room = Math.max(limits.compactAt - limits.headTokens, limits.compactAt / 4);
  const messages = conversation.messages();
  const before = expectedTokens(state.context, limits, userTurn(state));
  // A conversation that is compacted before it is full may be short.
  const size = cause === "asked" ? Math.min(room, before - limits.headTokens) : room;
  const cut = tellsCalls(conversation, state)
    ? nothingKept(messages)
    : cutOf(messages, state, { room: size * KEPT_SHARE[cause] });
  const timeLimitMs = Math.min(request.timeLimitMs ?? TIME_LIMIT_MS, host.services.limits.idleMs);
  const earlier = cut.summarised === 1 && messages[0] ? recordedSummary(messages[0]) : undefined;
  const answer: Summary =
    earlier === undefined
      ? await requestSummary(host, conversation, {
          count: cut.summarised,
          room,
          timeLimitMs,
          question: questionOf(request),
        })
      : { ok: true, text: earlier, spent: {} };
  if (host.outlet.signal.aborted) return;
  const characters = Math.min(LONGEST_RECORD, Math.floor(room * RECORD_SHARE * CHARACTERS_PER_TOKEN));
  const kept = messages.slice(cut.from).map(withoutThinking);
  const turn = userTurn(kept.length === 0 ? withToldCalls(state) : state);
  const summary = recordText(
    {
      first: state.asked?.first,
      latest: latestUnlessKept(state, [...kept, ...(turn ? [turn] : [])]),
      summary: answer.ok ? answer.text : digestOf(messages.slice(0, cut.from), Math.floor(characters / 2)),
      digest: !answer.ok,
      exchange: exchangeText(messages.slice(cut.summarised, cut.from), Math.floor(characters * 0.3)),
      mode: currentPolicy(host).mode,
      facts: state.run?.facts,
      isFork: host.request.subagent?.spec.fork?.kind === "fork",
      roster: await (request.roster?.() ?? Promise.resolve("")).catch(() => ""),
    },
    characters,
  );
  const left = [userMessage(summary), ...kept, turn].reduce((sum, message) => sum + sizeOf(message), 0);
  const compacted: EventOf<"conversation.compacted"> = {
    type: "conversation.compacted",
    summary,
    kept: kept.length,
    trigger: cause === "asked" ? "manual" : "auto",
    before,
    after: limits.headTokens + estimated(state.context, left),
    ...answer.spent,
  };
  host.before ??= thread.newestPrompt;
  const notices = answer.ok ? [] : [digestNotice(answer.problem)];
  await host.record([compacted, ...(await headAfterCompaction(host)), ...notices]);
  host.renewHead();
}

interface Cut {
  /** Index of the first message that is kept. */
  readonly from: number;
  /** Number of messages that the model summarizes. The last of them was part of an earlier request. */
  readonly summarised: number;
}

/** Keeps the newest messages that fit, and always keeps a response whose tool results have not been sent yet. */
function cutOf(messages: readonly Message[], state: LoopState, { room }: { readonly room: number }): Cut {
  const open = messages.at(-1)?.role === "assistant";
  let size = estimated(state.context, sizeOf(userTurn(state)));
  let from = messages.length;
  for (let index = messages.length - 1; index > 0; index -= 1) {
    size += estimated(state.context, sizeOf(messages[index]));
    const needed = open && from === messages.length;
    if (size > room && !needed) break;
    if (canFollowSummary(messages, index)) from = index;
  }
  return from < messages.length ? { from, summarised: from } : nothingKept(messages);
}

/**
 * Keeps no message. The newest turn has no response yet, and may be the one that did not fit, so it is not summarized
 * by the model.
 */
function nothingKept(messages: readonly Message[]): Cut {
  const answer = messages.findLastIndex((_, index) => canFollowSummary(messages, index));
  return { from: messages.length, summarised: Math.max(0, answer) };
}

/**
 * Returns whether the calls of the newest response, whose results the model has not seen, are told as text. While calls
 * are answered, the thinking that precedes them should not be left out, but it is valid only after the whole
 * conversation.
 */
function tellsCalls(conversation: Chain, { calls }: LoopState): boolean {
  const messages = conversation.messages();
  const answer = messages.findLast(({ role }) => role === "assistant");
  if (answer === undefined || !sendsThinking(answer, conversation.head)) return false;
  const last = messages.at(-1);
  return last === answer
    ? calls.length > 0 && calls.every(({ status }) => status === "ended")
    : last?.content.some(({ type }) => type === "tool_result") === true;
}

function digestNotice(problem: string): DurableEvent {
  return {
    type: "notice.raised",
    code: "compaction_digest",
    message: `The conversation was compacted without a summary from the model (${problem.replace(/\.$/, "")}). A digest of its requests, files, commands and latest messages replaces it.`,
  };
}

/** Shortens a turn that is too long to be kept: the model's text, its calls and their results. */
function exchangeText(messages: readonly Message[], maxCharacters: number): string {
  const texts = messages.flatMap((message) =>
    message.role === "assistant" && textOf(message.content).trim() !== "" ? [textOf(message.content)] : [],
  );
  const calls = performedCalls(messages);
  const share = Math.floor(maxCharacters / Math.max(1, calls.length + texts.length));
  const bound = (text: string): string => boundText(text, { maxCharacters: share }).text;
  const shown = calls.map(({ call, result }) =>
    bound(`${call.name} ${call.inputJson}${result.isError ? " failed" : ""}:\n${textOf(result.content)}`),
  );
  return [...texts.map(bound), ...shown].join("\n\n");
}

/** Returns the latest prompt, or undefined if one of the messages contains it. */
function latestUnlessKept({ asked }: LoopState, messages: readonly Message[]): string | undefined {
  if (asked === undefined) return undefined;
  return messages.some(({ role, content }) => role === "user" && textOf(content).includes(asked.latest))
    ? undefined
    : asked.latest;
}

function userMessage(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

interface SummaryRequest {
  /** Number of messages to summarize, from the first. */
  readonly count: number;
  /** Number of tokens that the conversation may use. */
  readonly room: number;
  readonly timeLimitMs: number;
  /** Message that asks for the summary. */
  readonly question: UserMessage;
}

/**
 * Maximum length of a summary in tokens. Tokens that are not reserved for the summary are available for the
 * conversation.
 */
const SUMMARY_TOKENS = 8_000;
/** Maximum length of a summary, as a share of the conversation's tokens. */
const SUMMARY_SHARE = 0.25;

type Summary = { readonly spent: SummaryCost } & (
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string }
);
type SummaryCost = Pick<EventOf<"conversation.compacted">, "usage" | "costUsd" | "milliseconds">;

/**
 * Asks the agent's own model for a summary, within the agent's budget and a time limit. Tool calls in the response are
 * not run.
 */
async function requestSummary(
  host: RunHost,
  conversation: Chain,
  { count, room, timeLimitMs, question }: SummaryRequest,
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
  const outcome = await callWithin(host, timeLimitMs, {
    prompt: summaryPrompt(conversation, count, question),
    maxTokens: reservation.answerTokens,
    promptTokens: Math.min(estimate.inputTokens, expectedTokens(context, headSize(head), question)),
    repeat: (lost) => reservation.repeat(bill.addLost(lost), outlet.signal),
    withoutThinking: async () => {
      await dropThinking(host);
      const bare = host.thread.conversation;
      return bare === undefined || bare === conversation ? undefined : summaryPrompt(bare, count, question);
    },
  });
  const total = bill.total(outcome);
  if (total) reservation.settle(total);
  else reservation.cancel();
  const milliseconds = Math.round(clock.monotonic() - startedAt);
  const spent: SummaryCost = { ...total, milliseconds };
  // A stopped run records no compaction, so the cost of the summary is recorded in a separate line.
  if (outlet.signal.aborted) await host.record([{ type: "spend.recorded", usage: noUsage, ...total }]);
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
  request: Pick<ModelRequest, "prompt" | "maxTokens" | "promptTokens" | "repeat" | "withoutThinking">,
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

function questionOf({ instructions }: CompactionRequest): UserMessage {
  return userMessage(compactionPrompt(instructions));
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
