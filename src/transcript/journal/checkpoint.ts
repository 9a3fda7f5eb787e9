import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Checkpoint, NewCheckpoint } from "../../ports/index.ts";

/** What stands in a checkpoint's first line; the facts are the second, the bytes follow. */
interface Header {
  readonly v: 1;
  /** Of the transcript: what was read to make it. */
  readonly lines: number;
  readonly size: number;
  readonly hash: string;
  /** Of everything behind the first line: it was not synced, and a power cut may have taken a part. */
  readonly ownHash: string;
}

export interface KeptCheckpoint extends Pick<Header, "lines" | "size"> {
  readonly checkpoint: Checkpoint;
}

/** Replaces the one there was. `transcript`: its bytes as they are now. */
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

/** Undefined where there is none, or it is not of the beginning of this transcript. */
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
    // None, or none that can be read: the transcript says the same.
    return undefined;
  }
}

const newline = 10;

function hashOf(...pieces: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
