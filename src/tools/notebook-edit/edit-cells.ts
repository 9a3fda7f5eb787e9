import { plural } from "../../lib/index.ts";
import { toCrlf, usesCrlf } from "../shared/text-encoding.ts";

export interface CellEdit {
  readonly mode: "replace" | "insert" | "delete";
  /** Id of a cell, or its index, starting at 0. */
  readonly cell: string | undefined;
  readonly source: string | undefined;
  readonly type: "code" | "markdown" | undefined;
}

export type CellsEdited =
  | { readonly ok: true; readonly text: string; readonly what: string }
  | { readonly ok: false; readonly message: string };

type Cell = Readonly<Record<string, unknown>>;

/** Changes one cell in the JSON text of a notebook and preserves every byte outside of that cell. */
export function editCells(text: string, edit: CellEdit, newId: () => string): CellsEdited {
  const notebook = parseNotebook(text);
  const spans = notebook && elementSpans(text, "cells");
  if (!notebook || !spans)
    return refused("this is not a valid notebook, which must be JSON with a list of cells. Repair it with Edit.");
  const index = edit.cell === undefined ? undefined : findCell(notebook.cells, edit.cell);
  if (edit.cell !== undefined && index === undefined) return refused(unknownCell(edit.cell, notebook.cells));
  if (index === undefined && edit.mode !== "insert") return refused(`cell_id is required to ${edit.mode} a cell.`);
  if (edit.source === undefined && edit.mode !== "delete")
    return refused(`new_source is required to ${edit.mode} a cell.`);
  const place = { text, ...spans, layout: layoutOf(text) };
  const source = edit.source ?? "";

  if (edit.mode === "insert") {
    const at = index === undefined ? 0 : index + 1;
    const id = notebook.hasIds ? freshId(notebook.cells, newId) : undefined;
    const cell = newCell({ type: edit.type ?? "code", source, id });
    return { ok: true, text: insertElement(place, at, cell), what: `Inserted cell ${id ?? at}` };
  }
  const at = index ?? 0;
  if (edit.mode === "delete") return { ok: true, text: deleteElement(place, at), what: `Deleted cell ${edit.cell}` };
  const cell = withSource(notebook.cells[at] ?? {}, source, edit.type);
  return { ok: true, text: replaceElement(place, at, cell), what: `Replaced cell ${edit.cell}` };
}

function refused(message: string): CellsEdited {
  return { ok: false, message };
}

function parseNotebook(text: string): { readonly cells: readonly Cell[]; readonly hasIds: boolean } | undefined {
  try {
    const notebook = JSON.parse(text);
    const cells: unknown = notebook?.cells;
    if (!Array.isArray(cells) || !cells.every((cell) => typeof cell === "object" && cell !== null)) return undefined;
    const { nbformat, nbformat_minor: minor } = notebook;
    return { cells, hasIds: nbformat > 4 || (nbformat === 4 && minor >= 5) };
  } catch {
    return undefined;
  }
}

function findCell(cells: readonly Cell[], wanted: string): number | undefined {
  const byId = cells.findIndex((cell) => cell["id"] === wanted);
  if (byId >= 0) return byId;
  const number = /^(?:cell-)?(\d{1,9})$/.exec(wanted)?.[1];
  return number !== undefined && Number(number) < cells.length ? Number(number) : undefined;
}

function unknownCell(wanted: string, cells: readonly Cell[]): string {
  const ids = cells.slice(0, 50).map((cell, index) => (typeof cell["id"] === "string" ? cell["id"] : String(index)));
  return `there is no cell ${JSON.stringify(wanted)}. The notebook has ${plural(cells.length, "cell")}: ${ids.join(", ")}${cells.length > 50 ? ", …" : ""}.`;
}

function freshId(cells: readonly Cell[], newId: () => string): string {
  const used = new Set(cells.map((cell) => cell["id"]));
  let id = newId();
  while (used.has(id)) id += "0";
  return id;
}

function newCell(content: { type: "code" | "markdown"; source: string; id: string | undefined }): Cell {
  const id = content.id === undefined ? {} : { id: content.id };
  const source = toLines(content.source);
  if (content.type === "markdown") return { cell_type: "markdown", ...id, metadata: {}, source };
  return { cell_type: "code", execution_count: null, ...id, metadata: {}, outputs: [], source };
}

function withSource(cell: Cell, source: string, type: CellEdit["type"]): Cell {
  const written = typeof cell["source"] === "string" ? source : toLines(source);
  if (type !== undefined && type !== cell["cell_type"]) {
    const id = typeof cell["id"] === "string" ? cell["id"] : undefined;
    return { ...newCell({ type, source, id }), metadata: cell["metadata"] ?? {}, source: written };
  }
  // The outputs of the old source are outdated.
  const cleared = cell["cell_type"] === "code" ? { execution_count: null, outputs: [] } : {};
  return { ...cell, ...cleared, source: written };
}

function toLines(source: string): string[] {
  return source === "" ? [] : source.split(/(?<=\n)/);
}

interface Layout {
  readonly indent: string;
  readonly crlf: boolean;
}

interface CellArray {
  readonly text: string;
  readonly array: JsonSpan;
  readonly elements: readonly JsonSpan[];
  readonly layout: Layout;
}

function layoutOf(text: string): Layout {
  return { indent: /^\s*\{\r?\n([ \t]+)"/.exec(text)?.[1] ?? "", crlf: usesCrlf(text) };
}

function replaceElement(place: CellArray, index: number, cell: Cell): string {
  const span = place.elements[index] ?? place.array;
  return place.text.slice(0, span.start) + render(place, cell) + place.text.slice(span.end);
}

function insertElement(place: CellArray, index: number, cell: Cell): string {
  const { text, array, elements } = place;
  const rendered = render(place, cell);
  const before = elements[index - 1];
  const after = elements[index];
  if (before) return `${text.slice(0, before.end)},${breakBefore(place, 2)}${rendered}${text.slice(before.end)}`;
  if (after) return `${text.slice(0, after.start)}${rendered},${breakBefore(place, 2)}${text.slice(after.start)}`;
  return `${text.slice(0, array.start)}[${breakBefore(place, 2)}${rendered}${breakBefore(place, 1)}]${text.slice(array.end)}`;
}

function deleteElement({ text, array, elements }: CellArray, index: number): string {
  const [before, span, after] = [elements[index - 1], elements[index], elements[index + 1]];
  if (span && after) return text.slice(0, span.start) + text.slice(after.start);
  if (span && before) return text.slice(0, before.end) + text.slice(span.end);
  return `${text.slice(0, array.start)}[]${text.slice(array.end)}`;
}

/** Formats a cell as JSON, indented by two levels like the other cells. */
function render({ layout }: CellArray, cell: Cell): string {
  if (layout.indent === "") return JSON.stringify(cell);
  const text = JSON.stringify(cell, null, layout.indent).replaceAll("\n", `\n${layout.indent.repeat(2)}`);
  return layout.crlf ? toCrlf(text) : text;
}

function breakBefore({ layout }: CellArray, level: number): string {
  if (layout.indent === "") return "";
  return (layout.crlf ? "\r\n" : "\n") + layout.indent.repeat(level);
}

/** Position of a value in JSON text. */
interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

/** Finds the elements of the array in the member `key` of the top-level object. The text must be valid JSON. */
export function elementSpans(
  text: string,
  key: string,
): { readonly array: JsonSpan; readonly elements: readonly JsonSpan[] } | undefined {
  let array: JsonSpan | undefined;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] === '"') {
    const keyEnd = skipString(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, start);
    // If several members have the same name, the last one wins, as in JSON.parse.
    if (JSON.parse(text.slice(at, keyEnd)) === key) array = { start, end };
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  if (!array || text[array.start] !== "[") return undefined;
  return { array, elements: spansIn(text, array) };
}

function spansIn(text: string, array: JsonSpan): JsonSpan[] {
  const elements: JsonSpan[] = [];
  let at = skipSpace(text, array.start + 1);
  while (at < array.end - 1) {
    const end = skipValue(text, at);
    elements.push({ start: at, end });
    at = skipSpace(text, skipSpace(text, end) + 1);
  }
  return elements;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return at;
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, from: number): number {
  if (text[from] === '"') return skipString(text, from);
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const character = text[at] ?? "";
    if (depth === 0 && ",]} \n\r\t".includes(character)) return at;
    if (character === '"') {
      at = skipString(text, at);
      continue;
    }
    if (character === "{" || character === "[") depth += 1;
    at += 1;
    if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return at;
}
