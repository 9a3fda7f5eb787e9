import { formatBytes } from "../../lib/index.ts";
import type { FileFailure, ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { MAX_LINE_CHARACTERS, pageLines } from "../shared/page-lines.ts";
import type { SeenFiles } from "../shared/seen-files.ts";
import { describeBinary, looksBinary } from "../shared/text-encoding.ts";
import { type LineRange, MAX_CHARACTERS, pastEnd } from "./line-range.ts";
import { imageType, MAX_IMAGE_BYTES } from "./read-image.ts";

interface LargeFileContext {
  readonly workspace: Workspace;
  readonly context: ToolContext;
  readonly seen: SeenFiles;
}

const CHUNK_BYTES = 1024 * 1024;
/** A character takes at most four bytes; one extra character shows that the line is longer. */
const MAX_LINE_BYTES = (MAX_LINE_CHARACTERS + 1) * 4;

/** Finds the requested lines chunk by chunk, in limited memory even for large files and long lines. */
export async function readLargeFile(
  file: { readonly real: string; readonly name: string },
  range: LineRange,
  place: LargeFileContext,
): Promise<ToolOutput> {
  const scanner = createLineScanner(range);
  let version: string | undefined;
  let position = 0;
  while (true) {
    if (place.context.signal.aborted) return failed("The call was cancelled.");
    const chunk = await place.workspace.read(file.real, { maxBytes: CHUNK_BYTES, offset: position });
    if (!chunk.ok) return fileFailed(chunk);
    version ??= chunk.stat.version;
    if (chunk.stat.version !== version) return fileFailed(grewMeanwhile(file.name));
    const refusal = position === 0 ? notLargeText(file.name, chunk) : undefined;
    if (refusal) return failed(refusal);
    position += chunk.bytes.length;
    if (chunk.bytes.length === 0) scanner.end();
    else scanner.feed(chunk.bytes);
    if (scanner.isDone() || chunk.bytes.length === 0) break;
  }
  const { lines, total } = scanner.result();
  if (lines.length === 0) return failed(pastEnd(file.name, total ?? 0, range.offset));
  const page = pageLines({ lines, first: range.offset, total }, { numbered: true, maxCharacters: MAX_CHARACTERS });
  place.seen.of(place.context.agentId).lines(file.real, { version, first: page.first, last: page.last, total });
  return { content: page.text, details: { path: file.name, first: page.first, shown: page.last - page.first + 1 } };
}

function notLargeText(
  name: string,
  chunk: { readonly bytes: Uint8Array; readonly stat: { readonly size: number } },
): string | undefined {
  const size = formatBytes(chunk.stat.size);
  if (imageType(chunk.bytes))
    return `${name} is an image of ${size}; at most ${formatBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy first.`;
  if (looksBinary(chunk.bytes))
    return `${name} is ${describeBinary(chunk.bytes)} or UTF-16 text of ${size}; it can't be shown.`;
  return undefined;
}

function grewMeanwhile(name: string): FileFailure {
  return { ok: false, code: "changed", message: `${name} is being written by another process` };
}

/** Collects the requested lines from chunks, up to the size of a page and a maximum length for each line. */
function createLineScanner({ offset, limit }: LineRange) {
  const lines: string[] = [];
  let characters = 0;
  let number = 1;
  let pieces: Uint8Array[] = [];
  let kept = 0;
  let length = 0;
  let more = false;

  function take(bytes: Uint8Array): void {
    length += bytes.length;
    if (number < offset || kept >= MAX_LINE_BYTES) return;
    const piece = Uint8Array.prototype.slice.call(bytes, 0, MAX_LINE_BYTES - kept);
    pieces.push(piece);
    kept += piece.length;
  }
  function endLine(): void {
    if (number >= offset) {
      const line = textOf(Buffer.concat(pieces), length);
      characters += Math.min(line.length, MAX_LINE_CHARACTERS);
      lines.push(line);
    }
    number += 1;
    pieces = [];
    kept = 0;
    length = 0;
  }
  const isFull = () => lines.length >= limit || characters > MAX_CHARACTERS;

  return {
    isDone: () => more,
    feed(bytes: Uint8Array): void {
      let start = 0;
      while (start < bytes.length) {
        if (isFull()) {
          more = true;
          return;
        }
        const end = bytes.indexOf(10, start);
        take(bytes.subarray(start, end < 0 ? undefined : end));
        if (end < 0) return;
        endLine();
        start = end + 1;
      }
    },
    /** Ends the input. Text after the last newline counts as a line. */
    end(): void {
      if (length > 0) endLine();
    },
    result: () => ({ lines, total: more ? undefined : number - 1 }),
  };
}

/** Pads an incomplete line beyond the length that a page shows, so that the page marks it as cut. */
function textOf(bytes: Buffer, length: number): string {
  const text = bytes.toString("utf8").replace(/\r$/, "");
  return bytes.length < length && text.length <= MAX_LINE_CHARACTERS ? text.padEnd(MAX_LINE_CHARACTERS + 1) : text;
}
