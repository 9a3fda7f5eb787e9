import { StringDecoder } from "node:string_decoder";
import type { Position } from "./screen.ts";

/**
 * Input from a user. `text`: characters. `paste`: text from the clipboard, as one piece. `key`: any other key, with its
 * modifiers in this order: `ctrl-`, `alt-`, `shift-`, such as `enter`, `alt-enter`, `ctrl-c`, `shift-tab`.
 */
export type Key =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "paste"; readonly text: string }
  | { readonly kind: "key"; readonly name: string };

export interface KeyDecoder {
  /** Decodes bytes from a terminal. Bytes that may begin a longer sequence are kept for the next call. */
  push(bytes: Uint8Array): readonly Key[];
  /** Whether an escape character is waiting for the rest of its sequence. */
  readonly isPending: boolean;
  /** Called when no more bytes have arrived in time, so a lone escape character was the Esc key. */
  flush(): readonly Key[];
}

const ESCAPE = "\u001b";
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";

/** Creates a decoder. `onPosition` is called with each position on the screen that the terminal reports. */
export function createKeyDecoder(onPosition?: (position: Position) => void): KeyDecoder {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let pasted: string | undefined;

  const decode = (isComplete: boolean): readonly Key[] => {
    const keys: Key[] = [];
    while (rest !== "") {
      if (pasted !== undefined) {
        const end = rest.indexOf(PASTE_END);
        // The end of the paste may be split between two reads.
        const kept = end >= 0 ? end : Math.max(0, rest.length - PASTE_END.length + 1);
        pasted += rest.slice(0, kept);
        rest = rest.slice(end >= 0 ? end + PASTE_END.length : kept);
        if (end < 0) break;
        keys.push({ kind: "paste", text: pasted });
        pasted = undefined;
        continue;
      }
      if (rest.startsWith(PASTE_START)) {
        pasted = "";
        rest = rest.slice(PASTE_START.length);
        continue;
      }
      const found = nextKey(rest, isComplete);
      if (found === undefined) break;
      rest = rest.slice(found.length);
      if (found.key !== undefined) keys.push(found.key);
      if (found.position !== undefined) onPosition?.(found.position);
    }
    return keys;
  };

  return {
    push: (bytes) => {
      const text = decoder.write(Buffer.from(bytes));
      // A key with Alt is sent in one piece, so this was the Esc key, and another one was pressed soon after.
      const isEscape = pasted === undefined && rest === ESCAPE && !/^(?:[[O]|$)/.test(text);
      const keys = isEscape ? decode(true) : [];
      rest += text;
      return [...keys, ...decode(false)];
    },
    get isPending() {
      return pasted === undefined && rest !== "";
    },
    flush: () => decode(pasted === undefined),
  };
}

interface Found {
  /** Undefined for a sequence that has no meaning here. */
  readonly key: Key | undefined;
  readonly length: number;
  /** A position on the screen that the terminal reports. */
  readonly position?: Position | undefined;
}

/** Returns the first key; undefined if the rest of its sequence has not arrived yet. */
function nextKey(text: string, isComplete: boolean): Found | undefined {
  if (text[0] === ESCAPE) return escaped(text, isComplete);
  const control = controlKey(text[0] ?? "");
  if (control !== undefined) return { key: key(control), length: 1 };
  const [typed = ""] = /^\P{Cc}+/u.exec(text) ?? [];
  return { key: { kind: "text", text: typed }, length: typed.length };
}

/** Control sequences, without the escape character. */
const complete = /^(?:\[\[?[0-9;:<=>?]*[ -/]*[@-~]|O[0-9;]*[@-~])/;
const incomplete = /^(?:\[\[?[0-9;:<=>?]*[ -/]*|O[0-9;]*)$/;

function escaped(text: string, isComplete: boolean): Found | undefined {
  if (text.length === 1) return isComplete ? { key: key("esc"), length: 1 } : undefined;
  if (text[1] === "[" || text[1] === "O") {
    const [sequence] = complete.exec(text.slice(1)) ?? [];
    if (sequence !== undefined)
      return { key: sequenceKey(sequence), length: 1 + sequence.length, position: positionIn(sequence) };
    const isBroken = !incomplete.test(text.slice(1));
    if (!isComplete && !isBroken) return undefined;
    return text.length === 2 ? { key: key(`alt-${text[1]}`), length: 2 } : { key: undefined, length: 2 };
  }
  const [character = ""] = text.slice(1);
  if (character === ESCAPE) return { key: key("esc"), length: 1 };
  return { key: key(`alt-${controlKey(character) ?? character}`), length: 1 + character.length };
}

/** Returns the position that a sequence reports. F3 with modifiers looks the same, but has no meaning here. */
function positionIn(sequence: string): Position | undefined {
  const [, row, column] = /^\[(\d+);(\d+)R$/.exec(sequence) ?? [];
  return row === undefined ? undefined : { row: Number(row) - 1, column: Number(column) - 1 };
}

/** Returns the name of a control character; undefined for any other character. */
function controlKey(character: string): string | undefined {
  const code = character.charCodeAt(0);
  if (code === 0x0d) return "enter";
  if (code === 0x09) return "tab";
  if (code === 0x7f || code === 0x08) return "backspace";
  if (code === 0x00) return "ctrl-space";
  if (code > 0x1f) return undefined;
  return `ctrl-${String.fromCharCode(code + 0x60)}`;
}

const finals: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  Z: "shift-tab",
};
const numbers: Readonly<Record<string, string>> = {
  1: "home",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};

function sequenceKey(sequence: string): Key | undefined {
  const final = sequence.at(-1) ?? "";
  const parameters = sequence.slice(1, -1).split(";");
  const [first = "", second = "1", third = ""] = parameters;
  // `CSI code ; modifiers u`, and `CSI 27 ; modifiers ; code ~`: keys that have no sequence of their own.
  if (final === "u") return codeKey(Number.parseInt(first, 10), second);
  if (final === "~" && first === "27") return codeKey(Number.parseInt(third, 10), second);
  if (sequence === "OM") return key("enter");
  const name = final === "~" ? numbers[first] : finals[final];
  return name === undefined ? undefined : key(withModifiers(name, second));
}

function codeKey(code: number, modifiers: string): Key | undefined {
  if (!(code > 0 && code <= 0x10ffff)) return undefined;
  if (code === 27) return key("esc");
  const character = String.fromCodePoint(code);
  const control = controlKey(character);
  const isPlain = control === undefined && (modifiers === "1" || modifiers === "2");
  if (isPlain) return { kind: "text", text: character };
  return key(withModifiers(control ?? character.toLowerCase(), modifiers));
}

/** `modifiers` is 1 plus 1 for Shift, 2 for Alt and 4 for Ctrl. */
function withModifiers(name: string, modifiers: string): string {
  const bits = (Number.parseInt(modifiers, 10) || 1) - 1;
  const prefix = `${bits & 4 ? "ctrl-" : ""}${bits & 2 ? "alt-" : ""}${bits & 1 ? "shift-" : ""}`;
  return `${prefix}${name}`;
}

function key(name: string): Key {
  return { kind: "key", name };
}
