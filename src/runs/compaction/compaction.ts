import { canFollowSummary } from "../../conversation/index.ts";
import { boundText } from "../../lib/index.ts";
import { estimated, expectedTokens, type LoopState, sizeOf, userTurn } from "../../loop/index.ts";
import { type DurableEvent, type EventOf, type Message, textOf, type UserMessage } from "../../protocol/index.ts";
import { currentPolicy } from "../host/plan-mode.ts";
import type { RunHost } from "../host/run-host.ts";
import { askForSummary, type Summary } from "./ask-for-summary.ts";
import { digestOf, performedCalls } from "./compaction-digest.ts";
import { recordedSummary, recordText } from "./compaction-record.ts";
import type { ContextLimits } from "./context-limits.ts";

export interface CompactionWish {
  readonly limits: ContextLimits;
  /** Of the loop's operation. */
  readonly cause: "full" | "overflow";
  /** `rosterText` of the agents there are. */
  readonly roster?: () => Promise<string>;
  readonly timeLimitMs?: number;
}

const TIME_LIMIT_MS = 120_000;
/** Shares of what a conversation may fill. */
const KEPT_SHARE = 0.2;
const RECORD_SHARE = 0.25;
const CHARACTERS_PER_TOKEN = 3;
const LONGEST_RECORD = 60_000;

/**
 * Puts a summary and the newest turns in the conversation's place, by one line of the journal: before it nothing has
 * changed. Always records that line, with a digest of our own where the model's summary can't be had, unless the run
 * was stopped meanwhile.
 */
export async function compactConversation(host: RunHost, wish: CompactionWish): Promise<void> {
  const { thread } = host;
  const { state, conversation } = thread;
  if (conversation === undefined) throw new Error("a compaction without a conversation");
  const { limits, cause } = wish;
  const room = Math.max(limits.compactAt - limits.headTokens, limits.compactAt / 4);
  const messages = conversation.messages();
  const cut = cutOf(messages, state, { room: room * (cause === "overflow" ? KEPT_SHARE / 2 : KEPT_SHARE) });
  const timeLimitMs = Math.min(wish.timeLimitMs ?? TIME_LIMIT_MS, host.services.limits.idleMs);
  const earlier = cut.summarised === 1 && messages[0] ? recordedSummary(messages[0]) : undefined;
  const asked: Summary =
    earlier === undefined
      ? await askForSummary(host, conversation, { count: cut.summarised, room, timeLimitMs })
      : { ok: true, text: earlier, spent: {} };
  if (host.outlet.signal.aborted) return;
  const characters = Math.min(LONGEST_RECORD, Math.floor(room * RECORD_SHARE * CHARACTERS_PER_TOKEN));
  const kept = messages.slice(cut.from);
  const turn = userTurn(state);
  const summary = recordText(
    {
      first: state.asked?.first,
      latest: latestUnlessThere(state, [...kept, ...(turn ? [turn] : [])]),
      summary: asked.ok ? asked.text : digestOf(messages.slice(0, cut.from), Math.floor(characters / 2)),
      digest: !asked.ok,
      exchange: exchangeText(messages.slice(cut.summarised, cut.from), Math.floor(characters * 0.3)),
      mode: currentPolicy(host).mode,
      facts: state.run?.facts,
      roster: await (wish.roster?.() ?? Promise.resolve("")).catch(() => ""),
    },
    characters,
  );
  const left = [userSays(summary), ...kept, turn].reduce((sum, message) => sum + sizeOf(message), 0);
  const compacted: EventOf<"conversation.compacted"> = {
    type: "conversation.compacted",
    summary,
    kept: kept.length,
    trigger: "auto",
    before: expectedTokens(state.context, limits, turn),
    after: limits.headTokens + estimated(state.context, left),
    ...asked.spent,
  };
  host.before ??= thread.newestPrompt;
  await host.record(asked.ok ? [compacted] : [compacted, noticeOf(asked.problem)]);
}

interface Cut {
  /** The first message that stays. */
  readonly from: number;
  /** So many of the first messages the model is asked to summarise: no more than it has answered to before. */
  readonly summarised: number;
}

/** The newest messages that fit; always an answer whose results are still to be sent. */
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
  if (from < messages.length) return { from, summarised: from };
  // The newest turn got no answer; it may be what did not fit.
  const answer = messages.findLastIndex((_, index) => canFollowSummary(messages, index));
  return { from, summarised: Math.max(0, answer) };
}

function noticeOf(problem: string): DurableEvent {
  return {
    type: "notice.raised",
    code: "compaction_digest",
    message: `The conversation was shortened without a summary by the model (${problem.replace(/\.$/, "")}): a digest of requests, files, commands and last words took its place.`,
  };
}

/** A turn that can't stay whole, in short: what was said, called and answered. */
function exchangeText(messages: readonly Message[], maxCharacters: number): string {
  const words = messages.flatMap((message) =>
    message.role === "assistant" && textOf(message.content).trim() !== "" ? [textOf(message.content)] : [],
  );
  const calls = performedCalls(messages);
  const share = Math.floor(maxCharacters / Math.max(1, calls.length + words.length));
  const bound = (text: string): string => boundText(text, { maxCharacters: share }).text;
  const shown = calls.map(({ call, result }) =>
    bound(`${call.name} ${call.inputJson}${result.isError ? " failed" : ""}:\n${textOf(result.content)}`),
  );
  return [...words.map(bound), ...shown].join("\n\n");
}

function latestUnlessThere({ asked }: LoopState, messages: readonly Message[]): string | undefined {
  if (asked === undefined) return undefined;
  return messages.some(({ role, content }) => role === "user" && textOf(content).includes(asked.latest))
    ? undefined
    : asked.latest;
}

function userSays(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text }] };
}
