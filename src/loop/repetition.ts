import { hashTexts, stripControls } from "../lib/index.ts";
import { canonicalToolName } from "../protocol/index.ts";
import { inputOf, type Wait, waitOf } from "./call-effects.ts";
import type { CallState } from "./call-state.ts";

/** A turn as it is stored to detect repetition. Results are stored as hashes to save space. */
export interface PastTurn {
  /** Hash of the distinct calls in the turn and their results. */
  readonly hash: string;
  /** Names of the calls for use in messages, for example `Read src/a.ts, Grep TODO`. */
  readonly calls: string;
  /** Set if a call in the turn waits for something or checks on it. */
  readonly wait?: Wait | undefined;
}

export interface Repetition {
  /** Turns since the last possible change outside the agent, oldest first. */
  readonly turns: readonly PastTurn[];
  /** Whether the model was warned about the cycle at the end of `turns`. */
  readonly warned: boolean;
  /** Newest turn during or after which something outside the agent may have changed. This turn is not counted. */
  readonly changedIn: number;
}

/** A sequence of turns that the newest turns repeat over and over. */
interface Cycle {
  readonly turns: readonly PastTurn[];
  readonly repetitions: number;
}

export interface EndedTurn {
  readonly turn: number;
  readonly calls: readonly CallState[];
  /** Set if something is running in the background. Repeated checks are then treated as waiting for that work. */
  readonly background: Wait | undefined;
}

export type LoopVerdict = { readonly kind: "warn" | "end"; readonly text: string };

const WARN_AT = 3;
const END_AT = 8;
const LONGEST_PERIOD = 3;

const REMEMBERED = END_AT * LONGEST_PERIOD;
const MOST_CALLS_NAMED = 4;
const LONGEST_NAME = 80;

/**
 * Returns the state before the first turn is counted. `turn` itself is excluded, because something may have changed
 * during it.
 */
export function newCount(turn: number): Repetition {
  return { turns: [], warned: false, changedIn: turn };
}

/** Counts a turn whose calls have all ended. The model is always warned before a run is ended. */
export function countTurn(
  past: Repetition,
  ended: EndedTurn,
): { readonly repetition: Repetition; readonly verdict?: LoopVerdict } {
  if (past.changedIn >= ended.turn) return { repetition: past };
  const turns = [...past.turns.slice(1 - REMEMBERED), pastTurn(ended)];
  const cycle = findCycle(turns);
  if (cycle === undefined) return { repetition: { ...past, turns, warned: false } };
  const repetition = { ...past, turns };
  const waits = new Set(cycle.turns.flatMap(({ wait }) => wait ?? []));
  if (!past.warned) return { repetition, verdict: { kind: "warn", text: warningText(cycle, waits) } };
  if (cycle.repetitions < END_AT || waits.size > 0) return { repetition };
  return { repetition, verdict: { kind: "end", text: endText(cycle) } };
}

/** Returns the shortest cycle at the end of the turns, if it repeats often enough for a warning. */
function findCycle(turns: readonly PastTurn[]): Cycle | undefined {
  for (let period = 1; period <= LONGEST_PERIOD; period += 1) {
    let same = 0;
    while (same + period < turns.length && turns.at(-1 - same)?.hash === turns.at(-1 - same - period)?.hash) same += 1;
    const repetitions = Math.floor((same + period) / period);
    if (repetitions >= WARN_AT) return { turns: turns.slice(-period), repetitions };
  }
  return undefined;
}

/**
 * Converts a turn to the form in which it is stored. Identical calls with identical results are counted once, and the
 * order of calls does not matter.
 */
function pastTurn({ calls, background }: EndedTurn): PastTurn {
  const distinct = new Map(calls.map((state) => [hashCall(state), state]));
  const hash = hashTexts([...distinct.keys()].sort());
  const names = [...new Set([...distinct.values()].map(nameOf))];
  const more = names.length > MOST_CALLS_NAMED ? ` and ${names.length - MOST_CALLS_NAMED} more` : "";
  const wait = calls.map(({ call }) => waitOf(call)).find((each) => each !== undefined) ?? background;
  return { hash, calls: names.slice(0, MOST_CALLS_NAMED).join(", ") + more, wait };
}

function hashCall({ call, result }: CallState): string {
  const { callId, name, inputJson } = call;
  const content = result?.content ?? [];
  // A truncated result ends with an address that contains the call id, which differs from call to call.
  const texts = content.map((block) => (block.type === "text" ? block.text.replaceAll(`/${callId}`, "/") : block.data));
  return hashTexts([canonicalToolName(name), inputJson, result?.outcome ?? "", ...texts]);
}

/** Names a call by its tool and the first string in its input: `Read src/a.ts`, `Bash npm test`. */
function nameOf({ call }: CallState): string {
  const input = inputOf(call);
  const text = [input["command"], ...Object.values(input)].find((value) => typeof value === "string") ?? "";
  const line = stripControls(String(text).slice(0, 4 * LONGEST_NAME))
    .replace(/\s+/g, " ")
    .trim();
  const name = `${call.name.slice(0, LONGEST_NAME)} ${line}`.trim();
  const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
  // Cutting the text may have split a surrogate pair.
  return short.replace(/\p{Cs}/gu, "");
}

function warningText(cycle: Cycle, waits: ReadonlySet<Wait>): string {
  const calls = `${timesOf(cycle)} with the same results: ${callsOf(cycle)}`;
  if (waits.size === 0) {
    return `You have repeated the same calls ${calls}. Repeating them will not give anything new. Use what you have, or try a different approach.`;
  }
  const advice = [...waits].map((wait) => adviceFor[wait]);
  return `You have made the same checks ${calls}. Checking more often does not make anything finish sooner. ${advice.join(" ")}`;
}

const adviceFor: Readonly<Record<Wait, string>> = {
  agent:
    "To wait for an agent, call TaskOutput with block set to true; you are also notified when it finishes. Until then, work on something else.",
  shell:
    "To wait for a background shell, call BashOutput with a longer timeout (up to 600000 ms), or work on something else first.",
  command:
    "To wait for a condition, sleep longer in one command that checks it, for example `until grep -q done build.log; do sleep 5; done`, with a timeout of up to 600000 ms.",
};

function endText(cycle: Cycle): string {
  return `Stopped because of a loop: the agent repeated the same calls ${timesOf(cycle)} with the same results, and changed nothing in between: ${callsOf(cycle)}. Resume it with different instructions to continue.`;
}

function callsOf({ turns }: Cycle): string {
  return turns.map(({ calls }) => calls).join(", then ");
}

function timesOf({ repetitions }: Cycle): string {
  return `${["three", "four", "five", "six", "seven", "eight"][repetitions - WARN_AT] ?? repetitions} times`;
}
