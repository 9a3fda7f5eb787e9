import { compactionPrompt } from "../../agents/index.ts";
import {
  type Chain,
  canFollowSummary,
  providedSummary,
  sendsThinking,
  withoutThinking,
} from "../../conversation/index.ts";
import { boundText } from "../../lib/index.ts";
import { estimated, expectedTokens, type LoopState, sizeOf, userTurn, withToldCalls } from "../../loop/index.ts";
import { type DurableEvent, type EventOf, type Message, textOf, type UserMessage } from "../../protocol/index.ts";
import { headAfterCompaction } from "../head/kept-head.ts";
import { currentPolicy } from "../host/plan-mode.ts";
import type { RunHost } from "../host/run-host.ts";
import { digestOf, performedCalls, recordedSummary, recordText } from "./compaction-record.ts";
import type { ContextLimits } from "./context-limits.ts";
import { requestSummary, type Summary, type SummaryRequest } from "./request-summary.ts";

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
 * Replaces the conversation with a summary and its newest turns. The provider writes the summary if it can, or else the
 * model; if neither does, a digest is used instead. The conversation does not change until the line that records the
 * compaction is written. If the run is stopped first, no compaction is recorded.
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
  const { answer, cut, notices } = await summarize(host, conversation, {
    kept: cutOf(messages, state, { room: size * KEPT_SHARE[cause] }),
    room,
    timeLimitMs: Math.min(request.timeLimitMs ?? TIME_LIMIT_MS, host.services.limits.idleMs),
    question: userMessage(compactionPrompt(request.instructions)),
  });
  if (host.outlet.signal.aborted) return;
  const block = answer.ok ? answer.block : undefined;
  const characters = Math.min(LONGEST_RECORD, Math.floor(room * RECORD_SHARE * CHARACTERS_PER_TOKEN));
  const newest = messages.slice(cut.from);
  const kept = block ? newest : newest.map(withoutThinking);
  const told = kept.length === 0 ? withToldCalls(state) : state;
  const turn = userTurn(told);
  const record = recordText(
    {
      first: state.asked?.first,
      latest: latestUnlessKept(state, [...kept, ...(turn ? [turn] : [])]),
      summary: block
        ? undefined
        : answer.ok
          ? answer.text
          : digestOf(messages.slice(0, cut.from), Math.floor(characters / 2)),
      digest: !answer.ok,
      exchange: exchangeText(messages.slice(cut.summarised, cut.from), Math.floor(characters * 0.3)),
      mode: currentPolicy(host).mode,
      facts: state.run?.facts,
      isFork: host.request.subagent?.spec.fork?.kind === "fork",
      roster: await (request.roster?.() ?? Promise.resolve("")).catch(() => ""),
    },
    characters,
  );
  const start: Message = block ? { role: "assistant", content: [block] } : userMessage(record);
  const next = block ? userTurn({ ...told, record }) : turn;
  const left = [start, ...kept, next].reduce((sum, message) => sum + sizeOf(message), 0);
  const compacted: EventOf<"conversation.compacted"> = {
    type: "conversation.compacted",
    summary: block && answer.ok ? answer.text : record,
    provided: block && { block, record },
    kept: kept.length,
    trigger: cause === "asked" ? "manual" : "auto",
    before,
    after: limits.headTokens + estimated(state.context, left),
    ...answer.spent,
  };
  host.before ??= thread.newestPrompt;
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

/** Keeps only the newest response and what follows it. */
function newestKept(messages: readonly Message[]): Cut {
  const from = messages.findLastIndex((_, index) => canFollowSummary(messages, index));
  return from < 1 ? nothingKept(messages) : { from, summarised: from };
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

interface SummaryPlan extends Pick<SummaryRequest, "room" | "timeLimitMs" | "question"> {
  /** Cut that keeps the newest messages. */
  readonly kept: Cut;
}

/** Gets the summary of a conversation, and decides which messages are kept after it. */
async function summarize(
  host: RunHost,
  conversation: Chain,
  { kept, ...request }: SummaryPlan,
): Promise<{ readonly answer: Summary; readonly cut: Cut; readonly notices: readonly DurableEvent[] }> {
  const messages = conversation.messages();
  const [first] = messages;
  const earlier = kept.summarised < 2 && first?.role === "assistant" ? providedSummary(first) : undefined;
  // The provider's summary stays where it is, and the messages after it are told in the record.
  if (earlier !== undefined && first?.content[0]?.type === "opaque") {
    const answer: Summary = { ok: true, text: earlier, block: first.content[0], spent: {} };
    return { answer, cut: nothingKept(messages), notices: [] };
  }
  const notices: DurableEvent[] = [];
  const canProvide = host.services.model.describe().compacts === true && isShort(request.question);
  if (canProvide) {
    const cut = kept.summarised < 2 ? newestKept(messages) : kept;
    const answer = await requestSummary(host, conversation, { ...request, count: cut.summarised, isProvided: true });
    if (answer.ok || !answer.canRepeat) {
      if (!answer.ok) notices.push(digestNotice(answer.problem));
      return { answer, cut, notices };
    }
    notices.push(notProvidedNotice(answer.problem));
  }
  const cut = tellsCalls(conversation, host.thread.state) ? nothingKept(messages) : kept;
  const recorded = cut.summarised === 1 && first ? recordedSummary(first) : undefined;
  const answer: Summary =
    recorded === undefined
      ? await requestSummary(host, conversation, { ...request, count: cut.summarised })
      : { ok: true, text: recorded, spent: {} };
  if (!answer.ok) notices.push(digestNotice(answer.problem));
  return { answer, cut, notices };
}

/** Returns whether providers accept instructions of this length. */
function isShort({ content }: UserMessage): boolean {
  return textOf(content).length <= 16_384;
}

function notProvidedNotice(problem: string): DurableEvent {
  const message = `The provider did not summarize the conversation (${problem.replace(/\.$/, "")}). The model wrote the summary instead, and its earlier thinking was left out.`;
  return { type: "notice.raised", code: "compaction", message };
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
