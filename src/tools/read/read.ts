import type { ResultStore, Tool, ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { explainMissing } from "../shared/explain-missing.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { type Located, locate } from "../shared/locate.ts";
import { type Lines, pageLines, splitLines } from "../shared/page-lines.ts";
import type { SeenFiles } from "../shared/seen-files.ts";
import { decodeText } from "../shared/text-encoding.ts";
import { type AskedLines, MAX_CHARACTERS, pastEnd } from "./asked-lines.ts";
import { readFace } from "./face.ts";
import { imageType, readImage } from "./read-image.ts";
import { readLargeFile } from "./read-large-file.ts";
import { readResult } from "./read-result.ts";
import { renderNotebook } from "./render-notebook.ts";

export interface ReadDependencies {
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
  /** Serves `retinue://result/<id>`. */
  readonly results?: ResultStore;
}

const DEFAULT_LINES = 2_000;
/** Larger files are searched for the asked lines piece by piece. */
const MAX_WHOLE_BYTES = 10 * 1024 * 1024;

export function createReadTool(dependencies: ReadDependencies): Tool {
  return {
    ...readFace,
    run: (input, context) => read(input, context, dependencies),
    release: async (agentId) => dependencies.seen.release(agentId),
  };
}

async function read(input: JsonObject, context: ToolContext, dependencies: ReadDependencies): Promise<ToolOutput> {
  const path = input["file_path"] as string;
  const range = {
    offset: Math.max((input["offset"] as number | undefined) ?? 1, 1),
    limit: (input["limit"] as number | undefined) ?? DEFAULT_LINES,
  };
  if (path.startsWith("retinue://")) return readResult(path, range, dependencies.results);
  const { workspace } = dependencies;
  const file = await locate(path, "read", { workspace, context });
  if (!file.ok) return file.output;
  if (file.kind === "directory") return failed(`${file.name} is a directory. Use LS to list it.`);
  if (file.kind === "missing") return explainMissing(file, { workspace, context });
  const result = await workspace.read(file.real, { maxBytes: MAX_WHOLE_BYTES });
  if (!result.ok && result.code === "too_large") return readLargeFile(file, range, { ...dependencies, context });
  if (!result.ok) return fileFailed(result);
  const content = { file, range, bytes: result.bytes, version: result.stat.version };
  return show(content, { context, seen: dependencies.seen });
}

interface Content {
  readonly file: Located & { ok: true };
  readonly range: AskedLines;
  readonly bytes: Uint8Array;
  readonly version: string;
}

function show(content: Content, { context, seen }: { context: ToolContext; seen: SeenFiles }): ToolOutput {
  const { file, bytes, version } = content;
  const known = seen.of(context.agentId);
  const image = imageType(bytes);
  if (image) return readImage(file.name, { type: image, bytes });
  const decoded = decodeText(bytes);
  if (!decoded.ok) return failed(`${file.name} is ${decoded.what}, not text (${bytes.length} bytes).`);
  if (bytes.length === 0) {
    known.whole(file.real, version);
    return { content: "[The file is empty.]", details: { path: file.name, lines: 0, shown: 0 } };
  }
  const notebook = file.real.endsWith(".ipynb") ? renderNotebook(decoded.text) : undefined;
  const lines = splitLines(notebook ? notebook.text : decoded.text);
  const page = showLines(lines, content, { numbered: notebook === undefined });
  if ("output" in page) return page.output;
  known.lines(file.real, { version, ...page, total: lines.length });
  const note = decoded.encoding === "latin1" ? "[Not valid UTF-8; shown as Latin-1.]" : "";
  const details = { path: file.name, lines: lines.length, first: page.first, shown: page.last - page.first + 1 };
  const text = page.text + note;
  return { content: notebook?.images.length ? [{ type: "text", text }, ...notebook.images] : text, details };
}

function showLines(lines: readonly string[], { file, range }: Content, { numbered }: { numbered: boolean }) {
  const { offset, limit } = range;
  if (offset > lines.length) return { output: failed(pastEnd(file.name, lines.length, offset)) };
  const asked: Lines = { lines: lines.slice(offset - 1, offset - 1 + limit), first: offset, total: lines.length };
  return pageLines(asked, { numbered, maxCharacters: MAX_CHARACTERS });
}
