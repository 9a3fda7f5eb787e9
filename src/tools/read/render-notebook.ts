import type { ImageBlock } from "../../protocol/index.ts";
import { MAX_IMAGE_BYTES } from "./read-image.ts";

export interface RenderedNotebook {
  readonly text: string;
  readonly images: readonly ImageBlock[];
}

const MAX_OUTPUT_CHARACTERS = 4_000;
const MAX_IMAGES = 5;
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
/** MIME types of outputs that are shown as text, in order of preference. */
const textTypes = ["text/plain", "text/markdown", "text/latex", "text/html", "application/json"];

/** Renders cells with their outputs as text; returns undefined for a file that is not a notebook. */
export function renderNotebook(json: string): RenderedNotebook | undefined {
  const cells = cellsOf(json);
  if (!cells) return undefined;
  const images: ImageBlock[] = [];
  const rendered = cells.map((cell, index) => renderCell(cell, { index, images }));
  return { text: rendered.join("\n\n"), images };
}

type Json = Readonly<Record<string, unknown>>;

function cellsOf(json: string): readonly Json[] | undefined {
  try {
    const notebook: unknown = JSON.parse(json);
    if (!isObject(notebook) || !Array.isArray(notebook["cells"])) return undefined;
    return notebook["cells"].filter(isObject);
  } catch {
    return undefined;
  }
}

function renderCell(cell: Json, place: { index: number; images: ImageBlock[] }): string {
  const type = typeof cell["cell_type"] === "string" ? cell["cell_type"] : "unknown";
  const id = typeof cell["id"] === "string" ? cell["id"] : String(place.index);
  const outputs = Array.isArray(cell["outputs"]) ? cell["outputs"].filter(isObject) : [];
  const parts = [`<cell id="${id}" type="${type}">`, joined(cell["source"])];
  for (const output of outputs) parts.push(`<output>\n${bounded(renderOutput(output, place.images))}\n</output>`);
  parts.push("</cell>");
  return parts.join("\n");
}

function renderOutput(output: Json, images: ImageBlock[]): string {
  if (output["output_type"] === "error") {
    const trace = Array.isArray(output["traceback"]) ? output["traceback"].join("\n") : "";
    return `${output["ename"]}: ${output["evalue"]}\n${withoutColors(trace)}`.trimEnd();
  }
  if (output["text"] !== undefined) return withoutColors(joined(output["text"])).trimEnd();
  const data = isObject(output["data"]) ? output["data"] : {};
  for (const type of imageTypes) {
    const encoded = joined(data[type]).replace(/\s/g, "");
    if (encoded === "") continue;
    if (images.length >= MAX_IMAGES || encoded.length > (MAX_IMAGE_BYTES / 3) * 4) return `[${type}, not shown]`;
    images.push({ type: "image", mediaType: type, data: encoded });
    return `[${type}: image ${images.length} below]`;
  }
  const type = textTypes.find((each) => data[each] !== undefined);
  return type ? joined(data[type]).trimEnd() : `[${Object.keys(data).join(", ") || "no data"}]`;
}

function joined(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join("");
  return value === undefined ? "" : JSON.stringify(value);
}

function bounded(text: string): string {
  if (text.length <= MAX_OUTPUT_CHARACTERS) return text;
  return `${text.slice(0, MAX_OUTPUT_CHARACTERS)}\n[+${text.length - MAX_OUTPUT_CHARACTERS} characters]`;
}

function withoutColors(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are removed
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
