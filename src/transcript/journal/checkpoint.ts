import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Checkpoint, NewCheckpoint } from "../../ports/index.ts";

/** First line of a checkpoint file. The second line contains the facts, and the bytes follow. */
interface Header {
  readonly v: 1;
  /** Number of transcript lines that the checkpoint covers. `size` and `hash` refer to the bytes of these lines. */
  readonly lines: number;
  readonly size: number;
  readonly hash: string;
  /** Hash of everything after the first line. Checkpoints are not synced, so a power cut may damage them. */
  readonly ownHash: string;
}

export interface KeptCheckpoint extends Pick<Header, "lines" | "size"> {
  readonly checkpoint: Checkpoint;
}

/** Writes a checkpoint that replaces the previous one. `transcript` contains the current bytes of the transcript. */
export function writeCheckpoint(
  path: string,
  { facts, bytes }: NewCheckpoint,
  { transcript, lines }: { readonly transcript: Uint8Array; readonly lines: number },
): void {
  const body = [Buffer.from(`${JSON.stringify(facts)}\n`), ...bytes];
  const header: Header = { v: 1, lines, size: transcript.length, hash: hashOf(transcript), ownHash: hashOf(...body) };
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...body]), { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Reads a checkpoint. Returns undefined if the file is missing or does not match the start of this transcript. */
export function readCheckpoint(path: string, transcript: Uint8Array): KeptCheckpoint | undefined {
  try {
    const file = readFileSync(path);
    const first = file.indexOf(newline);
    const { v, lines, size, hash, ownHash } = JSON.parse(file.toString("utf8", 0, first)) as Header;
    const body = file.subarray(first + 1);
    const fits = v === 1 && size <= transcript.length && hash === hashOf(transcript.subarray(0, size));
    if (!fits || ownHash !== hashOf(body)) return undefined;
    const second = body.indexOf(newline);
    const facts: unknown = JSON.parse(body.toString("utf8", 0, second));
    return { lines, size, checkpoint: { facts, bytes: body.subarray(second + 1) } };
  } catch {
    // The checkpoint is missing or unreadable. Nothing is lost, because the transcript contains the same information.
    return undefined;
  }
}

const newline = 10;

function hashOf(...pieces: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
