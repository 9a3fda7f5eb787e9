import { imageType } from "../../lib/index.ts";
import type { Tool, ToolContext, ToolOutput, ToolSpec, Workspace } from "../../ports/index.ts";
import type { ImageBlock, JsonObject } from "../../protocol/index.ts";
import { descriptions } from "../descriptions.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { explainMissing, type Located, locate } from "../shared/locate.ts";
import { pageLines, splitLines } from "../shared/page-lines.ts";
import type { SeenFiles } from "../shared/seen-files.ts";
import { decodeAs, detectEncoding, type Encoding, markLength } from "../shared/text-encoding.ts";
import {
  choose,
  type FoundLines,
  type LineRange,
  linesInPart,
  linesOf,
  MAX_CHARACTERS,
  pastEnd,
} from "./line-range.ts";
import { readImage } from "./read-image.ts";
import { readLargeFile } from "./read-large-file.ts";
import { isPdf, readPdf } from "./read-pdf.ts";
import { renderNotebook } from "./render-notebook.ts";

export const readSpec: ToolSpec = {
  declaration: {
    name: "Read",
    description: descriptions.read,
    inputSchema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "Path of the file, or an address." },
        offset: { type: "integer", minimum: 0, description: "First line to read. The first line of a file is 1." },
        limit: { type: "integer", minimum: 1, description: "Number of lines to read." },
        pages: { type: "string", description: "Pages of a PDF document, such as 3, 2-5 or 10-. Default: all." },
      },
      required: ["file_path"],
    },
  },
  traits: { parallel: true, effects: false },
};

export interface ReadDependencies {
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
}

const DEFAULT_LINES = 2_000;
/**
 * Number of bytes to read first when a file is read again. These bytes often contain the requested part of a large
 * file.
 */
const FIRST_BYTES = 64 * 1024;
const LEAST_BYTES = 8 * 1024;
const BYTES_PER_LINE = 512;
/** Maximum size of a file to read at once. Larger files are read chunk by chunk. */
const MAX_WHOLE_BYTES = 10 * 1024 * 1024;

export function createReadTool(dependencies: ReadDependencies): Tool {
  const texts = createKnownTexts();
  return {
    ...readSpec,
    run: (input, context) => read(input, context, { ...dependencies, texts }),
    inherit: (agentId, from) => dependencies.seen.inherit(agentId, from),
    release: async (agentId) => dependencies.seen.release(agentId),
  };
}

interface Known extends ReadDependencies {
  readonly texts: KnownTexts;
}

async function read(input: JsonObject, context: ToolContext, dependencies: Known): Promise<ToolOutput> {
  const path = input["file_path"] as string;
  const range = rangeOf(input);
  const { workspace } = dependencies;
  const file = await locate(path, "read", { workspace, context });
  if (!file.ok) return file.output;
  if (file.kind === "directory") return failed(`${file.name} is a directory. Use LS to list it.`);
  if (file.kind === "missing") return explainMissing(file, { workspace, context });
  const again = await readAgain(file, range, dependencies);
  if (again) return showText(again, context, dependencies);
  const result = await workspace.read(file.real, { maxBytes: MAX_WHOLE_BYTES });
  if (!result.ok && result.code === "too_large") return readLargeFile(file, range, { ...dependencies, context });
  if (!result.ok) return fileFailed(result);
  if (isPdf(result.bytes)) {
    const pages = input["pages"] as string | undefined;
    return readPdf({ name: file.name, bytes: result.bytes, pages, range }, { workspace, context });
  }
  const content = { file, range, bytes: result.bytes, version: result.stat.version };
  return show(content, context, dependencies);
}

export function rangeOf(input: JsonObject): LineRange {
  return {
    offset: Math.max((input["offset"] as number | undefined) ?? 1, 1),
    limit: (input["limit"] as number | undefined) ?? DEFAULT_LINES,
  };
}

/**
 * Reads only the first bytes of a file that was read before and is unchanged. These bytes often contain the requested
 * lines.
 */
async function readAgain(
  file: Content["file"],
  range: LineRange,
  { workspace, texts }: Known,
): Promise<ShownText | undefined> {
  const known = texts.of(file.real);
  if (known === undefined) return undefined;
  const maxBytes = Math.min(FIRST_BYTES, LEAST_BYTES + BYTES_PER_LINE * (range.offset + range.limit));
  const part = await workspace.read(file.real, { maxBytes, offset: 0 });
  if (!part.ok || part.stat.version !== known.version) return undefined;
  const { encoding, version, total } = known;
  const found = linesInPart(part.bytes, encoding, { ...range, total });
  return found && { file, range, version, encoding, ...found };
}

interface Content {
  readonly file: Located & { ok: true };
  readonly range: LineRange;
  readonly bytes: Uint8Array;
  readonly version: string;
}

function show(content: Content, context: ToolContext, dependencies: Known): ToolOutput {
  const { file, range, bytes, version } = content;
  const image = imageType(bytes);
  if (image) return readImage(file.name, { type: image, bytes });
  const detected = detectEncoding(bytes);
  if (!detected.ok) return failed(`${file.name} is ${detected.what}, not text (${bytes.length} bytes).`);
  if (bytes.length === 0) {
    dependencies.seen.of(context.agentId).whole(file.real, version);
    return { content: "[The file is empty.]", details: { path: file.name, lines: 0, shown: 0 } };
  }
  const { encoding } = detected;
  const text = { file, range, version, encoding };
  const notebook = file.real.endsWith(".ipynb") ? notebookOf(bytes, encoding) : undefined;
  if (notebook) {
    const { images } = notebook;
    return showText({ ...text, images, ...choose(splitLines(notebook.text), range) }, context, dependencies);
  }
  const found = linesOf(bytes, encoding, range);
  if (bytes.length > FIRST_BYTES) dependencies.texts.remember(file.real, { version, encoding, total: found.total });
  return showText({ ...text, ...found }, context, dependencies);
}

interface ShownText extends Omit<Content, "bytes">, FoundLines {
  readonly encoding: Encoding;
  /** Images in a notebook. Set only for notebooks, whose lines are not numbered. */
  readonly images?: readonly ImageBlock[];
}

function showText(shown: ShownText, context: ToolContext, { seen }: Known): ToolOutput {
  const { file, range, version, encoding, lines, total, images } = shown;
  if (range.offset > total) return failed(pastEnd(file.name, total, range.offset));
  const limits = { numbered: images === undefined, maxCharacters: MAX_CHARACTERS };
  const page = pageLines({ lines, first: range.offset, total }, limits);
  seen.of(context.agentId).lines(file.real, { version, ...page, total });
  const note = encoding === "latin1" ? "[Not valid UTF-8; shown as Latin-1.]" : "";
  const details = { path: file.name, lines: total, first: page.first, shown: page.last - page.first + 1 };
  const text = page.text + note;
  return { content: images?.length ? [{ type: "text", text }, ...images] : text, details };
}

function notebookOf(bytes: Uint8Array, encoding: Encoding): ReturnType<typeof renderNotebook> {
  return renderNotebook(decodeAs(encoding, bytes.subarray(markLength[encoding])));
}

/**
 * Facts about a file that was read completely. They are kept because long files are read in parts, and often by many
 * agents.
 */
interface KnownText {
  readonly version: string;
  readonly encoding: Encoding;
  /** Number of lines. */
  readonly total: number;
}

interface KnownTexts {
  of(path: string): KnownText | undefined;
  remember(path: string, text: KnownText): void;
}

const MOST_FILES = 1_000;

function createKnownTexts(): KnownTexts {
  const texts = new Map<string, KnownText>();
  return {
    of: (path) => texts.get(path),
    remember: (path, text) => {
      if (texts.size >= MOST_FILES) texts.clear();
      texts.set(path, text);
    },
  };
}
