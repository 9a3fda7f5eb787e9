/** Text that is being written, split at a point where its parts can be shown separately. */
export interface SplitDraft {
  /** Blocks that are complete. Empty if there are none. */
  readonly done: string;
  readonly rest: string;
}

const fence = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Divides unfinished Markdown after its last complete block. A block is complete when another one has begun after a
 * blank line. Indented text does not end a block, because it may be part of a list item.
 */
export function splitDraft(text: string): SplitDraft {
  let at = 0;
  let end = 0;
  let open: string | undefined;
  let wasBlank = false;
  for (const line of text.split(/(?<=\n)/)) {
    const [, mark] = fence.exec(line) ?? [];
    const isBlank = line.trim() === "" && line.endsWith("\n");
    if (open === undefined && wasBlank && /^\S/.test(line)) end = at;
    if (mark !== undefined && open === undefined) open = mark;
    else if (mark !== undefined && open !== undefined && closes(line, open)) open = undefined;
    wasBlank = isBlank;
    at += line.length;
  }
  return { done: text.slice(0, end), rest: text.slice(end) };
}

function closes(line: string, open: string): boolean {
  const [, mark = ""] = fence.exec(line) ?? [];
  return mark.startsWith(open) && line.trim() === mark;
}

/** A code block that is longer than the screen, divided after its last complete line. */
export interface SplitCode {
  readonly language: string;
  readonly code: string;
  /** The rest, preceded by the line that opens the code block. */
  readonly rest: string;
}

/** Divides a draft that begins with a code block. Returns undefined if it does not, or if there is no complete line. */
export function splitCode(text: string): SplitCode | undefined {
  const [opening = ""] = text.split(/(?<=\n)/, 1);
  const [, mark] = fence.exec(opening) ?? [];
  if (mark === undefined || !opening.endsWith("\n")) return undefined;
  const body = text.slice(opening.length);
  const lines = body.split(/(?<=\n)/);
  const closing = lines.findIndex((line) => fence.test(line) && closes(line, mark));
  const complete = (closing === -1 ? lines : lines.slice(0, closing)).filter((line) => line.endsWith("\n"));
  const code = complete.join("");
  if (code === "") return undefined;
  const language = opening.trim().slice(mark.length).trim().split(/[\s{]/)[0] ?? "";
  return { language, code: code.replace(/\n$/, ""), rest: `${opening}${body.slice(code.length)}` };
}
