import type { ResultStore, ToolOutput } from "../../ports/index.ts";
import { failed } from "../shared/failed.ts";
import { MAX_LINE_CHARACTERS, pageLines, splitLines } from "../shared/page-lines.ts";
import { type AskedLines, MAX_CHARACTERS, pastEnd } from "./asked-lines.ts";

/** A page of a saved result. Nothing else can open it, so long lines are folded here rather than cut. */
export async function readResult(
  address: string,
  range: AskedLines,
  results: ResultStore | undefined,
): Promise<ToolOutput> {
  const text = await results?.read(address);
  if (text === undefined) return failed(`There is no saved result ${address}. Repeat the call that made it.`);
  const lines = splitLines(text).flatMap(fold);
  if (lines.length === 0) return { content: "[The result is empty.]" };
  if (range.offset > lines.length) return failed(pastEnd(address, lines.length, range.offset));
  const asked = lines.slice(range.offset - 1, range.offset - 1 + range.limit);
  const page = pageLines(
    { lines: asked, first: range.offset, total: lines.length },
    { numbered: false, maxCharacters: MAX_CHARACTERS },
  );
  return { content: page.text, details: { path: address, lines: lines.length, shown: page.last - page.first + 1 } };
}

function fold(line: string): string[] {
  if (line.length <= MAX_LINE_CHARACTERS) return [line];
  const folded = [];
  for (let start = 0; start < line.length; ) {
    const last = line.charCodeAt(start + MAX_LINE_CHARACTERS - 1);
    const end = start + MAX_LINE_CHARACTERS - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    folded.push(line.slice(start, end));
    start = end;
  }
  return folded;
}
