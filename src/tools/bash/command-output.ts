import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import {
  createTextCollector,
  describeError,
  endOfWholeCharacters,
  formatBytes,
  stripControls,
} from "../../lib/index.ts";
import type { ResultStore } from "../../ports/index.ts";
import type { CallId } from "../../protocol/index.ts";

export interface OutputText {
  readonly text: string;
  /** The complete text, if the middle of `text` is omitted. The caller must save or remove it. */
  readonly whole?: WholeOutput | undefined;
}

/** A file with the complete text, or the reason why there is none. */
export type WholeOutput = { readonly path: string; readonly bytes: number } | { readonly trouble: string };

export interface CommandOutput {
  /** Returns false once the output has reached its maximum size and the command should be stopped. */
  push(chunk: Uint8Array, stream: "stdout" | "stderr"): boolean;
  /** Returns the output since the last call; the middle of long output is omitted. */
  takeNew(): OutputText;
  readonly hasNew: boolean;
  lastLine(): string;
  close(): void;
  /** Removes the file with output that was never returned. */
  discard(): void;
}

export interface OutputLimits {
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Maximum size of the output; a command that prints more is stopped. */
  readonly fileBytes: number;
}

export const outputLimits: OutputLimits = { headBytes: 16_000, tailBytes: 10_000, fileBytes: 256 * 1024 * 1024 };

/**
 * Combines both output streams of a command, in limited memory. Long output is also written to a file. A new file is
 * started whenever the output is returned.
 */
export function createCommandOutput(path: string, limits: OutputLimits = outputLimits): CommandOutput {
  const characters = { stdout: createWholeCharacters(), stderr: createWholeCharacters() };
  let fresh = createTextCollector(limits);
  let file = createOverflowFile(path, limits);
  let parts = 1;
  let total = 0;
  let last = "";

  function add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    fresh.push(bytes);
    if (total < limits.fileBytes) file.write(bytes);
    total += bytes.length;
    last = (last + Buffer.from(bytes.subarray(-400)).toString()).slice(-400);
  }
  return {
    push(chunk, stream) {
      add(characters[stream].take(chunk));
      return total < limits.fileBytes;
    },
    takeNew() {
      const { text, truncated } = fresh.collected();
      const whole = truncated ? file.take() : undefined;
      if (!truncated) file.remove();
      parts += 1;
      fresh = createTextCollector(limits);
      file = createOverflowFile(`${path}.${parts}`, limits);
      return { text: readable(text), whole };
    },
    get hasNew() {
      return fresh.totalBytes > 0;
    },
    lastLine: () => readable(last).trimEnd().split("\n").at(-1) ?? "",
    close() {
      add(characters.stdout.rest());
      add(characters.stderr.rest());
      file.close();
    },
    discard: () => file.remove(),
  };
}

/**
 * Saves the complete text as the result of a call. Returns a note with its address, or an empty string if there is no
 * complete text.
 */
export async function saveWhole(
  whole: WholeOutput | undefined,
  { results, callId }: { readonly results: ResultStore; readonly callId: CallId },
): Promise<string> {
  if (whole === undefined) return "";
  if ("trouble" in whole) return `The full output could not be saved. ${whole.trouble}`;
  try {
    const address = await results.saveFile(callId, whole.path);
    return `To see the full output (${formatBytes(whole.bytes)}), open ${address} with Read or Grep.`;
  } catch (error) {
    return `The full output could not be saved. ${describeError(error)}`;
  } finally {
    rmSync(whole.path, { force: true });
  }
}

/**
 * Creates the file only when the output exceeds the memory limits; the file contains the output from the first byte on.
 */
function createOverflowFile(path: string, { headBytes, tailBytes }: OutputLimits) {
  let early: Buffer[] = [];
  let size = 0;
  let descriptor: number | undefined;
  let isCreated = false;
  let trouble: string | undefined;

  function attempt(work: () => void): void {
    if (trouble !== undefined) return;
    try {
      work();
    } catch (error) {
      trouble = describeError(error);
    }
  }
  function writeAll(bytes: Uint8Array): void {
    attempt(() => {
      let done = 0;
      while (descriptor !== undefined && done < bytes.length) done += writeSync(descriptor, bytes, done);
    });
  }
  function open(): void {
    attempt(() => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      // A planted link is replaced, not followed.
      rmSync(path, { force: true });
      descriptor = openSync(path, "wx", 0o600);
      isCreated = true;
    });
    for (const bytes of early) writeAll(bytes);
    early = [];
  }
  function close(): void {
    const open = descriptor;
    descriptor = undefined;
    if (open !== undefined) attempt(() => closeSync(open));
  }
  return {
    write(bytes: Uint8Array): void {
      size += bytes.length;
      if (isCreated) writeAll(bytes);
      else if (trouble === undefined) early.push(Buffer.from(bytes));
      if (!isCreated && size > headBytes + tailBytes) open();
    },
    close,
    take(): WholeOutput {
      if (!isCreated) open();
      close();
      if (trouble === undefined) return { path, bytes: size };
      if (isCreated) rmSync(path, { force: true });
      return { trouble };
    },
    remove(): void {
      close();
      if (isCreated) rmSync(path, { force: true });
    },
  };
}

/** Keeps only the last state of a line that was redrawn, such as a progress bar. */
function readable(text: string): string {
  return stripControls(text.replaceAll("\r\n", "\n").replace(/(?<![^\n])[^\n]*\r(?=[^\r\n])/g, ""));
}

/**
 * Holds back incomplete characters, so that two streams can be combined into one. `rest` returns the remaining bytes at
 * the end of the stream.
 */
export function createWholeCharacters(): { take(chunk: Uint8Array): Uint8Array; rest(): Uint8Array } {
  let held: Uint8Array = new Uint8Array(0);
  return {
    take(chunk) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const end = endOfWholeCharacters(bytes);
      held = Buffer.from(bytes.subarray(end));
      return bytes.subarray(0, end);
    },
    rest() {
      const bytes = held;
      held = new Uint8Array(0);
      return bytes;
    },
  };
}
