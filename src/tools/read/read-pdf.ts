import { randomBytes } from "node:crypto";
import { plural } from "../../lib/index.ts";
import type { ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import { failed } from "../shared/failed.ts";
import { pageLines, splitLines } from "../shared/page-lines.ts";
import { choose, type LineRange, MAX_CHARACTERS, pastEnd } from "./line-range.ts";

/** Pages of a PDF document, starting at 1. Without `last`, all pages from `first` on. */
interface PageRange {
  readonly first: number;
  readonly last?: number | undefined;
}

interface PdfRequest {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Pages as the model wrote them, such as `3` or `2-5`. */
  readonly pages: string | undefined;
  /** Lines of the extracted text. */
  readonly range: LineRange;
}

/** Maximum size of the extracted text. A small file can expand to very long text. */
const MAX_TEXT_BYTES = 20 * 1024 * 1024;

export function isPdf(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 5)).toString("latin1") === "%PDF-";
}

/**
 * Shows the text of a PDF document, which `pdftotext` extracts. The program receives only the bytes of the file and
 * runs in the sandbox, if there is one.
 */
export async function readPdf(
  { name, bytes, pages, range }: PdfRequest,
  place: { readonly workspace: Workspace; readonly context: ToolContext },
): Promise<ToolOutput> {
  const wanted = parsePages(pages);
  if (wanted === undefined) return failed(`"${pages}" is not a range of pages. Use a form like 3, 2-5 or 10-.`);
  const extracted = await extractText(bytes, wanted, place);
  if ("problem" in extracted) return failed(`The text of ${name} could not be extracted. ${extracted.problem}`);
  const texts = extracted.text.split("\f").slice(0, -1);
  if (texts.every((text) => text.trim() === ""))
    return failed(
      `${name}: ${plural(texts.length, "page")} without text. To look at a page, make an image with Bash, as in \`pdftoppm -png -r 80 -f 1 -l 1 FILE PREFIX\`, and read the image.`,
    );
  const lines = texts.flatMap((text, index) => [`[Page ${wanted.first + index}]`, ...splitLines(text.trimEnd())]);
  if (range.offset > lines.length) return failed(pastEnd(name, lines.length, range.offset));
  const page = pageLines(
    { ...choose(lines, range), first: range.offset },
    { numbered: true, maxCharacters: MAX_CHARACTERS },
  );
  return {
    content: page.text,
    details: { path: name, lines: lines.length, first: page.first, shown: page.last - page.first + 1 },
  };
}

/** Parses `3`, `2-5` or `10-`. Returns undefined for anything else. */
function parsePages(pages = "1-"): PageRange | undefined {
  const match = /^(\d{1,6})(?:\s*-\s*(\d{0,6}))?$/.exec(pages.trim());
  if (match === null) return undefined;
  const [, from, to = from] = match;
  const first = Number(from);
  const last = to === "" ? undefined : Number(to);
  return first > 0 && (last === undefined || last >= first) ? { first, last } : undefined;
}

async function extractText(
  bytes: Uint8Array,
  { first, last }: PageRange,
  { workspace, context: { signal } }: { readonly workspace: Workspace; readonly context: ToolContext },
): Promise<{ readonly text: string } | { readonly problem: string }> {
  const confinement = await workspace.confinement?.();
  if (confinement?.kind === "missing") return { problem: confinement.reason };
  const chunks: Uint8Array[] = [];
  let size = 0;
  let complaint = "";
  const process = workspace.spawn({
    command: "pdftotext",
    args: ["-layout", "-enc", "UTF-8", "-f", `${first}`, ...(last === undefined ? [] : ["-l", `${last}`]), "-", "-"],
    tag: `pdf-${randomBytes(8).toString("hex")}`,
    stdin: bytes,
    confined: confinement?.kind === "on",
    readsOnly: { visible: [], hidden: [] },
    onOutput(chunk, stream) {
      if (stream === "stderr") complaint = (complaint + Buffer.from(chunk).toString("utf8")).slice(0, 1_000);
      else if (size <= MAX_TEXT_BYTES) chunks.push(chunk);
      if (stream === "stdout") size += chunk.length;
      if (size > MAX_TEXT_BYTES) stop();
    },
  });
  const stop = (): void => void process.end();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const { code, failure } = await process.exited;
  signal.removeEventListener("abort", stop);
  if (signal.aborted) return { problem: "The call was cancelled." };
  if (size > MAX_TEXT_BYTES) return { problem: "It is longer than 20 MB. Read fewer pages at once." };
  const text = Buffer.concat(chunks).toString("utf8");
  if (code === 0 && text.includes("\f")) return { text };
  if (failure !== undefined || isMissing(code, complaint))
    return { problem: "pdftotext is not installed. Ask the user to install poppler (poppler-utils on Debian)." };
  return { problem: complaint.trim().split("\n")[0] || "The file is damaged or has no such pages." };
}

/**
 * Returns whether the sandbox could not start the program. A shell there reports that with code 126 or 127, which
 * pdftotext does not use, and bubblewrap itself with a message.
 */
function isMissing(code: number | null, complaint: string): boolean {
  return code === 126 || code === 127 || (code !== 0 && complaint.startsWith("bwrap: execvp pdftotext:"));
}
