import { formatBytes, imageType } from "../../lib/index.ts";
import type { FileFailure, ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { pageLines } from "../shared/page-lines.ts";
import type { SeenFiles } from "../shared/seen-files.ts";
import { describeBinary, looksBinary } from "../shared/text-encoding.ts";
import { type LineRange, MAX_CHARACTERS, pastEnd } from "./line-range.ts";
import { createLineScanner } from "./line-scanner.ts";
import { MAX_IMAGE_BYTES } from "./read-image.ts";

interface LargeFileContext {
  readonly workspace: Workspace;
  readonly context: ToolContext;
  readonly seen: SeenFiles;
}

const CHUNK_BYTES = 1024 * 1024;

/** Finds the requested lines chunk by chunk, in limited memory even for large files and long lines. */
export async function readLargeFile(
  file: { readonly real: string; readonly name: string },
  range: LineRange,
  place: LargeFileContext,
): Promise<ToolOutput> {
  const scanner = createLineScanner(range, { folds: false });
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
    if (scanner.hasMore() || chunk.bytes.length === 0) break;
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
    return `${name} is a ${size} image; at most ${formatBytes(MAX_IMAGE_BYTES)} can be shown. Make a smaller copy first.`;
  if (looksBinary(chunk.bytes))
    return `${name} is ${describeBinary(chunk.bytes)} or UTF-16 text of ${size}; it can't be shown.`;
  return undefined;
}

function grewMeanwhile(name: string): FileFailure {
  return { ok: false, code: "changed", message: `${name} is being written by another process` };
}
