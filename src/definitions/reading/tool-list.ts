import type { Field } from "./field-reader.ts";

/** The value of a field such as `tools`. */
export interface ToolList {
  /** Names as written, including `*`. */
  readonly listed: readonly string[];
  /** Names that a map sets to false: `{write: false}`. */
  readonly excluded: readonly string[];
  /** True if the map only excludes tools, so that all others are inherited. */
  readonly inheritsRest: boolean;
}

/**
 * Reads comma-separated text, a list, a JSON array in a string, or a map from name to boolean. Returns undefined if
 * invalid.
 */
export function readToolList(field: Field): ToolList | undefined {
  const { value } = field;
  if (value === null || value === undefined) return { listed: [], excluded: [], inheritsRest: false };
  if (typeof value === "string") return readString(value);
  if (Array.isArray(value)) return readItems(value) ?? readRawItems(field.raw);
  if (typeof value === "object") return readMap(value as Record<string, unknown>);
  return undefined;
}

function readString(text: string): ToolList | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith("[")) {
    try {
      const parsed: unknown = JSON.parse(trimmed);
      return Array.isArray(parsed) ? readItems(parsed) : undefined;
    } catch {
      if (!trimmed.endsWith("]")) return undefined;
      return asList(splitList(trimmed.slice(1, -1)));
    }
  }
  if (trimmed.startsWith("{")) return undefined;
  if (/^-\s/.test(trimmed)) return readRawItems(trimmed);
  return asList(splitList(trimmed));
}

/**
 * Splits at commas and line ends outside of parentheses: `Bash(git diff, git log)` is one item. Returns undefined if
 * parentheses are unbalanced.
 */
export function splitList(text: string): string[] | undefined {
  const pieces = splitOutside(text);
  if (pieces === undefined) return undefined;
  const items: string[] = [];
  for (const piece of pieces) {
    const item = cleanItem(piece);
    if (item !== "") items.push(item);
  }
  return items;
}

function splitOutside(text: string): string[] | undefined {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  for (let position = 0; position < text.length; position++) {
    const letter = text[position];
    if (letter === "(") depth += 1;
    else if (letter === ")") depth -= 1;
    else if ((letter === "," || letter === "\n") && depth === 0) {
      pieces.push(text.slice(start, position));
      start = position + 1;
    }
    if (depth < 0) return undefined;
  }
  if (depth !== 0) return undefined;
  pieces.push(text.slice(start));
  return pieces;
}

function cleanItem(item: string): string {
  const trimmed = item.trim();
  return quotedItem.test(trimmed) ? trimmed.slice(1, -1).trim() : trimmed;
}

const quotedItem = /^(["'`]).*\1$/;

function asList(listed: readonly string[] | undefined): ToolList | undefined {
  return listed === undefined || listed.some(hasControls) ? undefined : { listed, excluded: [], inheritsRest: false };
}

function readItems(items: readonly unknown[]): ToolList | undefined {
  const listed: string[] = [];
  for (const item of items) {
    if (item === null) continue;
    if (typeof item !== "string") return undefined;
    if (item.trim() !== "") listed.push(item.trim());
  }
  return asList(listed);
}

/** Reads the source text of a list. In YAML, `- Bash(git: *)` is a mapping, but its author means a tool. */
function readRawItems(raw: string | undefined): ToolList | undefined {
  const listed: string[] = [];
  for (const line of (raw ?? "").split("\n")) {
    if (line.trim() === "") continue;
    const item = /^\s*-\s+(.*)$/.exec(line)?.[1];
    const split = item === undefined ? undefined : splitList(item);
    if (split?.length !== 1 || !/^[\w.*/:-]+(?:\(.*\))?$/.test(split[0] ?? "")) return undefined;
    listed.push(...split);
  }
  return listed.length === 0 ? undefined : asList(listed);
}

function readMap(map: Readonly<Record<string, unknown>>): ToolList | undefined {
  const listed: string[] = [];
  const excluded: string[] = [];
  for (const [name, on] of Object.entries(map)) {
    if (typeof on !== "boolean" || hasControls(name)) return undefined;
    (on ? listed : excluded).push(name);
  }
  const inheritsRest = listed.length === 0 && excluded.length > 0 && !excluded.includes("*");
  return { listed, excluded, inheritsRest };
}

export function hasControls(text: string): boolean {
  return controls.test(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched
const controls = /[\u0000-\u001f\u007f-\u009f]/;
