import type { Writable } from "node:stream";
import { describeError, errorCode, maskAddresses, stripControls } from "../lib/index.ts";
import { exitCodes } from "./exit-codes.ts";

export interface Output {
  readonly isTerminal: boolean;
  /** Resolves when this process has written the text, so that a slow reader slows down the writer. Never rejects. */
  write(text: string): Promise<void>;
}

/**
 * Wraps a standard stream. Calls `onClosed` when the reader closes its end (`byReader`) or when writing fails; later writes
 * are dropped.
 */
export function createOutput(
  stream: Writable & { readonly isTTY?: boolean },
  onClosed: (byReader: boolean) => void = () => {},
): Output {
  let isClosed = false;
  const close = (error: Error): void => {
    if (isClosed) return;
    isClosed = true;
    const byReader = errorCode(error) === "EPIPE";
    if (!byReader) fail(error);
    onClosed(byReader);
  };
  stream.on("error", close);
  return {
    isTerminal: stream.isTTY === true,
    write: (text) => {
      if (isClosed || text === "") return Promise.resolve();
      return new Promise((resolve) => {
        stream.write(stream.isTTY ? text.replace(obeyed, escapeCharacter) : text, (error) => {
          if (error) close(error);
          resolve();
        });
      });
    },
  };
}

/** Matches characters that JSON does not escape, but that a terminal may obey, and that no output needs. */
const obeyed = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * Formats messages for standard error, one `retinue: …` line each, without control characters and without passwords and
 * keys in addresses.
 */
export function messageLines(messages: readonly string[]): string {
  return messages.map((message) => `retinue: ${stripControls(withFlags(maskAddresses(message)))}\n`).join("");
}

/** Rewrites a message for the command line. Other modules name library options, such as "the `maxTurns` option". */
export function withFlags(message: string): string {
  return message
    .replace(
      /(Choose|choose) (another one|another model) with the `model` option/g,
      "$1 $2 with --model (see `retinue models`)",
    )
    .replace(/the `([a-zA-Z]+)(?:: ([^`]+))?` option/g, (_, name: string, value?: string) => {
      const flag = flagNames[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return value === undefined ? `--${flag}` : `--${flag} ${value}`;
    })
    .replace(/set (budget\.usd|budget\.tokens|subagents\.maxSpawns) in your settings/g, (given, key: string) => {
      return `${given} or use --${limitFlags[key]}`;
    });
}

const flagNames: Readonly<Record<string, string>> = { trusted: "trust", settingsFile: "settings" };
const limitFlags: Readonly<Record<string, string>> = {
  "budget.usd": "max-cost",
  "budget.tokens": "max-tokens",
  "subagents.maxSpawns": "max-spawns",
};

/** Sets the exit code. Undelivered output is a failure, even if everything else succeeded. */
function fail(error: Error): void {
  process.exitCode = exitCodes.failed;
  process.stderr.write(`retinue: The output can't be written: ${describeError(error)}\n`);
}
