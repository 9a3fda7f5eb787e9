import { callsOf, type Message, textOf, type UserBlock } from "../../protocol/index.ts";
import type { PlannedCall, Seen } from "../jobs/job.ts";

export interface CurrentRequest {
  readonly text: string;
  /** What the conversation says came of a call made for this request; undefined: it was not made yet. */
  seen(call: PlannedCall): Seen | undefined;
}

/** The last thing the user said, and the calls made since. "Go on" means the request before it, with its calls. */
export function currentRequest(messages: readonly Message[]): CurrentRequest {
  const spoken = messages.flatMap((message, index) => {
    if (message.role !== "user") return [];
    const text = textOf(message.content.filter((block) => !isNote(block))).trim();
    return text === "" && !message.content.some(saysResumed) ? [] : [{ text, index }];
  });
  const last = spoken.at(-1) ?? { text: "", index: 0 };
  const meant = spoken.findLast(({ text }) => !isGoOn(text)) ?? last;
  const results = collect(messages, { from: meant.index, failuresFrom: last.index });
  return {
    text: meant.text,
    seen: (call) => {
      const found = results.get(keyOf(call.name, JSON.stringify(call.input)));
      return found && { call, ...found };
    },
  };
}

/** What the runtime tells the model stands in brackets; it asks for nothing. */
function isNote(block: UserBlock): boolean {
  return block.type === "text" && /^\[[^\]]*\]$/.test(block.text.trim());
}

function saysResumed(block: UserBlock): boolean {
  return isNote(block) && block.type === "text" && /^\[(Your previous run|The person interrupted)/.test(block.text);
}

/** No words at all is a session that was resumed. */
function isGoOn(text: string): boolean {
  return (
    text === "" ||
    /^(please |ok(ay)?[,.]? )?(continue|go on|go ahead|carry on|resume|keep going|proceed|try again|retry)\b[\s.!]*$/i.test(
      text,
    )
  );
}

interface Result {
  readonly ok: boolean;
  readonly text: string;
}

/** Calls that failed before the user said "go on" are made again: most of them were cut off, not answered. */
function collect(
  messages: readonly Message[],
  { from, failuresFrom }: { readonly from: number; readonly failuresFrom: number },
): ReadonlyMap<string, Result> {
  const keys = new Map<string, string>();
  const results = new Map<string, Result>();
  for (const [index, message] of messages.entries()) {
    if (index < from) continue;
    if (message.role === "assistant") {
      for (const { callId, name, inputJson } of callsOf(message)) keys.set(callId, keyOf(name, inputJson));
      continue;
    }
    for (const block of message.content) {
      if (block.type !== "tool_result") continue;
      const key = keys.get(block.callId);
      if (key === undefined || (block.isError && index <= failuresFrom)) continue;
      results.set(key, { ok: !block.isError, text: textOf(block.content) });
    }
  }
  return results;
}

function keyOf(name: string, inputJson: string): string {
  return `${name} ${inputJson}`;
}
