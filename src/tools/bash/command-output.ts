import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import {
  createTextCollector,
  describeError,
  endOfWholeCharacters,
  formatBytes,
  stripControls,
} from "../../lib/index.ts";

export interface OutputText {
  readonly text: string;
  /** Explains where the omitted part of the text is, or why it was not saved; empty if the text is complete. */
  readonly note: string;
}

export interface CommandOutput {
  /** Returns false once the output has reached its maximum size and the command should be stopped. */
  push(chunk: Uint8Array, stream: "stdout" | "stderr"): boolean;
  /** Returns the output since the last call; the middle of long output is omitted. */
  takeNew(): OutputText;
  readonly hasNew: boolean;
  lastLine(): string;
  close(): void;
}

export interface OutputLimits {
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Maximum size of the output; a command that prints more is stopped. */
  readonly fileBytes: number;
}

export const outputLimits: OutputLimits = { headBytes: 16_000, tailBytes: 10_000, fileBytes: 256 * 1024 * 1024 };

/**
 * Collects both streams of a command into one text, in limited memory. The complete text of long output is saved to a
 * file.
 */
export function createCommandOutput(path: string, limits: OutputLimits = outputLimits): CommandOutput {
  const characters = { stdout: createWholeCharacters(), stderr: createWholeCharacters() };
  const file = createOverflowFile(path, limits);
  let fresh = createTextCollector(limits);
  let last = "";

  function add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    fresh.push(bytes);
    file.write(bytes);
    last = (last + Buffer.from(bytes.subarray(-400)).toString()).slice(-400);
  }
  return {
    push(chunk, stream) {
      add(characters[stream].take(chunk));
      return !file.isFull;
    },
    takeNew() {
      const { text, truncated } = fresh.collected();
      fresh = createTextCollector(limits);
      return { text: readable(text), note: truncated ? file.note() : "" };
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
  };
}

/**
 * Creates the file only when the output exceeds the memory limits; the file contains the output from the first byte on.
 */
function createOverflowFile(path: string, { headBytes, tailBytes, fileBytes }: OutputLimits) {
  let early: Buffer[] = [];
  let size = 0;
  let descriptor: number | undefined;
  let trouble: string | undefined;

  function writeAll(bytes: Uint8Array): void {
    if (descriptor === undefined || trouble !== undefined) return;
    try {
      let done = 0;
      while (done < bytes.length) done += writeSync(descriptor, bytes, done);
    } catch (error) {
      trouble = describeError(error);
    }
  }
  function open(): void {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      descriptor = openSync(path, "w", 0o600);
    } catch (error) {
      trouble = describeError(error);
    }
    for (const bytes of early) writeAll(bytes);
    early = [];
  }
  return {
    get isFull() {
      return size >= fileBytes;
    },
    write(bytes: Uint8Array): void {
      if (size >= fileBytes) return;
      size += bytes.length;
      if (descriptor === undefined && trouble === undefined) {
        early.push(Buffer.from(bytes));
        if (size > headBytes + tailBytes) open();
      } else writeAll(bytes);
    },
    note(): string {
      if (trouble !== undefined) return `The full output could not be saved. ${trouble}`;
      return descriptor === undefined ? "" : `Full output (${formatBytes(size)}): ${path}`;
    },
    close(): void {
      if (descriptor === undefined) return;
      try {
        closeSync(descriptor);
      } catch (error) {
        trouble ??= describeError(error);
      }
    },
  };
}

/** Keeps only the last state of a line that was redrawn, such as a progress bar. */
function readable(text: string): string {
  return stripControls(text.replaceAll("\r\n", "\n").replace(/(?<![^\n])[^\n]*\r(?=[^\r\n])/g, ""));
}

/**
 * Holds back incomplete characters, so that two streams can be combined into one. `rest` returns the bytes that are
 * left at the end of the stream.
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
