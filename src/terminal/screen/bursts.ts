import type { Key } from "./keys.ts";

/** Detects pastes in terminals that do not mark them, by the speed at which their lines arrive. */
export interface BurstDetector {
  /** Processes the keys from one read. Returns those that can be passed on. */
  push(keys: readonly Key[]): readonly Key[];
  /** Time after which `flush` must be called if nothing else was read; undefined if nothing is kept. */
  readonly pendingMs: number | undefined;
  /** Returns the input that was kept: a paste, or keys that turned out not to be one. */
  flush(): readonly Key[];
}

/** Time after which a paste is complete. Slow connections deliver it in several pieces. */
const PASTE_MS = 100;
/** Time to wait after a long line that arrived at once, because it may be the first one of a paste. */
const LINE_MS = 15;
/** Number of characters above which a line is assumed to have been pasted. */
const MIN_LINE = 200;

export function createBurstDetector(): BurstDetector {
  /** Text of the paste that is arriving. */
  let pasted: string | undefined;
  /** A line with its line break, which may be the first one of a paste. */
  let line: readonly Key[] = [];

  const flush = (): readonly Key[] => {
    const kept = pasted === undefined ? line : [{ kind: "paste", text: pasted } as const];
    pasted = undefined;
    line = [];
    return kept;
  };
  return {
    push: (keys) => {
      const all = [...line, ...keys];
      const texts = all.map(textOf);
      // Other keys, such as Ctrl+C, are never part of a paste.
      if (texts.includes(undefined)) return [...flush(), ...keys];
      line = [];
      const text = texts.join("");
      if (pasted !== undefined) pasted += text;
      else if (/[^\n]\n+[^\n]/.test(text)) pasted = text;
      else if (text.length > MIN_LINE && text.endsWith("\n")) line = all;
      else return all;
      return [];
    },
    get pendingMs() {
      if (pasted !== undefined) return PASTE_MS;
      return line.length > 0 ? LINE_MS : undefined;
    },
    flush,
  };
}

/** Returns the text that a key represents in a paste; undefined if it can't be part of one. */
function textOf(key: Key): string | undefined {
  if (key.kind === "text") return key.text;
  if (key.kind === "paste") return undefined;
  return { enter: "\n", "ctrl-j": "\n", tab: "\t" }[key.name];
}
