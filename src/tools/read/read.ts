import type { ResultStore, Tool, ToolContext, ToolOutput, Workspace } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { explainMissing } from "../shared/explain-missing.ts";
import { failed, fileFailed } from "../shared/failed.ts";
import { type Located, locate } from "../shared/locate.ts";
import { pageLines, splitLines } from "../shared/page-lines.ts";
import type { SeenFiles } from "../shared/seen-files.ts";
import { decodeAs, detectEncoding, type Encoding, markLength } from "../shared/text-encoding.ts";
import { type AskedLines, MAX_CHARACTERS, pastEnd } from "./asked-lines.ts";
import { readFace } from "./face.ts";
import { createLineCounts, type LineCounts } from "./line-counts.ts";
import { choose, linesOf } from "./lines-of.ts";
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
  const counts = createLineCounts();
  return {
    ...readFace,
    run: (input, context) => read(input, context, { ...dependencies, counts }),
    release: async (agentId) => dependencies.seen.release(agentId),
  };
}

interface Known extends ReadDependencies {
  readonly counts: LineCounts;
}

async function read(input: JsonObject, context: ToolContext, dependencies: Known): Promise<ToolOutput> {
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
  return show(content, context, dependencies);
}

interface Content {
  readonly file: Located & { ok: true };
  readonly range: AskedLines;
  readonly bytes: Uint8Array;
  readonly version: string;
}

function show({ file, range, bytes, version }: Content, context: ToolContext, { seen, counts }: Known): ToolOutput {
  const known = seen.of(context.agentId);
  const image = imageType(bytes);
  if (image) return readImage(file.name, { type: image, bytes });
  const found = detectEncoding(bytes);
  if (!found.ok) return failed(`${file.name} is ${found.what}, not text (${bytes.length} bytes).`);
  if (bytes.length === 0) {
    known.whole(file.real, version);
    return { content: "[The file is empty.]", details: { path: file.name, lines: 0, shown: 0 } };
  }
  const { encoding } = found;
  const notebook = file.real.endsWith(".ipynb") ? notebookOf(bytes, encoding) : undefined;
  const counted = notebook === undefined ? counts.of(file.real, version) : undefined;
  const asked = { ...range, ...(counted === undefined ? {} : { total: counted }) };
  const { lines, total } = notebook ? choose(splitLines(notebook.text), range) : linesOf(bytes, encoding, asked);
  if (notebook === undefined) counts.remember(file.real, version, total);
  if (range.offset > total) return failed(pastEnd(file.name, total, range.offset));
  const numbered = notebook === undefined;
  const page = pageLines({ lines, first: range.offset, total }, { numbered, maxCharacters: MAX_CHARACTERS });
  known.lines(file.real, { version, ...page, total });
  const note = encoding === "latin1" ? "[Not valid UTF-8; shown as Latin-1.]" : "";
  const details = { path: file.name, lines: total, first: page.first, shown: page.last - page.first + 1 };
  const text = page.text + note;
  return { content: notebook?.images.length ? [{ type: "text", text }, ...notebook.images] : text, details };
}

function notebookOf(bytes: Uint8Array, encoding: Encoding): ReturnType<typeof renderNotebook> {
  return renderNotebook(decodeAs(encoding, bytes.subarray(markLength[encoding])));
}
