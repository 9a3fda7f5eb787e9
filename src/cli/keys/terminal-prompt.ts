import { PassThrough } from "node:stream";
import { isatty } from "node:tty";
import { isAgentCommand } from "../../app/index.ts";
import { monotonic } from "../../lib/index.ts";
import { fitLine } from "../fit-line.ts";
import { isForeground, type TerminalKeys } from "./terminal-keys.ts";

/** Returns whether this process has a terminal on which it can ask the user. A command run by an agent must not ask. */
export function hasTerminal(): boolean {
  return process.platform !== "win32" && isatty(0) && process.stderr.isTTY === true && !isAgentCommand();
}

/** Returns whether someone is likely to be looking at this process's terminal. */
export function isWatched(): boolean {
  return hasTerminal() && isForeground() && !process.env["CI"];
}

/** The part of a terminal's output that is used here. */
export type PromptOutput = NodeJS.WritableStream & { readonly columns?: number };

interface PromptOptions {
  readonly keys: TerminalKeys;
  readonly output: PromptOutput;
  /** Returns text that is shown after the keys; may be empty. */
  readonly more: () => string;
}

/** Asks the user for input on a terminal. Reads all keys until `close` is called. */
export interface TerminalPrompt {
  /** Prints text that explains the next input. Resolves when the text has been written. */
  show(text: string): Promise<void>;
  /** Waits until one of the keys is pressed, and returns that key. `keys` maps each key to its label. */
  key(keys: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Reads a line that the user edits, starting with `text`. Returns undefined if the user goes back or the signal
   * fires.
   */
  line(wanted: WantedLine, signal: AbortSignal): Promise<string | undefined>;
  /** Shows the keys again, after `more` has changed. */
  redraw(): void;
  /** Prints a line in place of the keys. */
  say(line: string): void;
  close(): void;
}

interface WantedLine {
  readonly label: string;
  readonly text?: string;
}

/**
 * How long the user must have paused before a key is accepted as an answer. Keys typed before the question could be
 * read must not answer it.
 */
const QUIET_MS = 300;

const ESCAPE = "\u001b";
const CLEAR_LINE = "\r\u001b[2K";

export function openPrompt({ keys, output, more }: PromptOptions): TerminalPrompt {
  let onKeys = (_text: Buffer): void => {};
  let shown = "";
  let draw = (): void => {};
  let quietUntil = 0;
  const stop = keys.read({
    onKeys: (bytes) => {
      if (monotonic() >= quietUntil) onKeys(Buffer.from(bytes));
    },
    // Another program has used the terminal, and the keys may have been meant for that program.
    onContinued: () => {
      quietUntil = monotonic() + QUIET_MS;
      output.write(shown);
      draw();
    },
  });

  /** Discards input until the user has typed nothing for a while. */
  const untilQuiet = (signal: AbortSignal): Promise<unknown> =>
    orAborted<undefined>(signal, (resolve) => {
      let timer: NodeJS.Timeout | undefined;
      let immediate: NodeJS.Immediate | undefined;
      const restart = (): void => {
        clearTimeout(timer);
        clearImmediate(immediate);
        timer = setTimeout(() => {
          // Node first delivers input that arrived while the process was busy, which restarts the wait.
          immediate = setImmediate(() => resolve(undefined));
        }, QUIET_MS);
      };
      onKeys = restart;
      restart();
    });
  const input = async (signal: AbortSignal, start: (resolve: Resolve<string>) => void): Promise<string | undefined> => {
    await untilQuiet(signal);
    const value = await orAborted(signal, start);
    onKeys = () => {};
    draw = () => {};
    return value;
  };
  const write = (text: string): Promise<void> => new Promise((resolve) => output.write(text, () => resolve()));

  return {
    show: (text) => {
      shown = text;
      return write(`${CLEAR_LINE}${text}`);
    },
    key: (choices, signal) =>
      input(signal, (resolve) => {
        draw = () => {
          const labels = Object.entries(choices).map(([key, label]) =>
            key === ESCAPE ? label : `${key} ${label}`.trim(),
          );
          const line = `  ${[...labels, more()].filter((part) => part !== "").join(" · ")} `;
          output.write(`${CLEAR_LINE}${fitLine(line, (output.columns || 80) - 1)}`);
        };
        // Several characters at once are pasted text or an unknown key.
        onKeys = (bytes) => {
          if (bytes.length === 1 && bytes.toString() in choices) resolve(bytes.toString());
        };
        draw();
      }),
    line: async ({ label, text = "" }, signal) => {
      const { createInterface } = await import("node:readline");
      const typed = new PassThrough();
      let reader: ReturnType<typeof createInterface> | undefined;
      const line = await input(signal, (resolve) => {
        output.write(CLEAR_LINE);
        reader = createInterface({ input: typed, output, terminal: true, historySize: 0, prompt: label });
        reader.once("line", resolve);
        reader.once("close", () => resolve(undefined));
        draw = () => reader?.prompt(true);
        onKeys = (bytes) => {
          if (bytes.toString() === ESCAPE) resolve(undefined);
          else typed.write(oneKeyOrText(bytes));
        };
        reader.prompt();
        reader.write(text);
      });
      reader?.close();
      return line;
    },
    redraw: () => draw(),
    say: (line) => output.write(`${CLEAR_LINE}${line}\n`),
    close: stop,
  };
}

/** Shows line breaks and tabs in pasted text as symbols. */
function oneKeyOrText(bytes: Buffer): Buffer {
  const text = bytes.toString();
  if (text === "\r" || text === "\n" || !/[\r\n\t]/.test(text)) return bytes;
  return Buffer.from(text.replace(/\r\n?|\n/g, "↵").replaceAll("\t", "⇥"));
}

type Resolve<T> = (value: T | undefined) => void;

/** Waits for a value. Returns undefined if the signal fires first. */
function orAborted<T>(signal: AbortSignal, start: (resolve: Resolve<T>) => void): Promise<T | undefined> {
  let onAbort = (): void => {};
  return new Promise<T | undefined>((resolve) => {
    if (signal.aborted) return resolve(undefined);
    onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    start(resolve);
  }).finally(() => signal.removeEventListener("abort", onAbort));
}
