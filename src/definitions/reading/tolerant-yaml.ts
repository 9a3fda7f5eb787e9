import type { Field } from "./field-reader.ts";
import type { YamlReader } from "./strict-yaml.ts";

export interface TolerantOptions {
  readonly firstLine: number;
  /** Returns true for fields of the format. Only those end a text of several lines. */
  readonly isKnown: (key: string) => boolean;
  readonly readYaml: YamlReader;
}

/**
 * Reads frontmatter that is not valid YAML but clear to a person: colons in unquoted text, examples at the left edge,
 * `tools: *`. Splits it at lines that start with a key. Each piece is parsed as YAML on its own, or kept as text.
 */
export function readTolerantYaml(source: string, options: TolerantOptions): Field[] {
  const fields: Field[] = [];
  for (const block of cutBlocks(source, options.isKnown)) {
    const line = options.firstLine + block.index;
    fields.push(readAlone(block, { ...options, firstLine: line }) ?? asText(block, line));
  }
  return fields;
}

function readAlone(block: Block, { firstLine, readYaml }: TolerantOptions): Field | undefined {
  const source = `${block.lines.join("\n")}\n`;
  const strict = readYaml(source, firstLine);
  return strict.kind === "fields" && strict.fields.length === 1 ? strict.fields[0] : undefined;
}

interface Block {
  readonly key: string;
  readonly index: number;
  readonly lines: string[];
}

const keyLine = /^(["']?)([A-Za-z_][A-Za-z0-9_-]*)\1[ \t]*:(?:[ \t]|$)/;
const speakers = new Set([
  "user",
  "assistant",
  "human",
  "context",
  "commentary",
  "example",
  "examples",
  "note",
  "system",
]);

function cutBlocks(source: string, isKnown: (key: string) => boolean): Block[] {
  const blocks: Block[] = [];
  for (const [index, line] of source.split("\n").entries()) {
    const key = keyLine.exec(line)?.[2];
    const open = blocks.at(-1);
    if (key !== undefined && startsField({ key, open, isKnown })) blocks.push({ key, index, lines: [line] });
    else if (open !== undefined) open.lines.push(line);
  }
  return blocks;
}

interface FieldStart {
  readonly key: string;
  readonly open: Block | undefined;
  readonly isKnown: (key: string) => boolean;
}

/** A capitalised key is prose (`Context:`), and an unknown key starts a field only outside of a text of several lines. */
function startsField({ key, open, isKnown }: FieldStart): boolean {
  if (/^[A-Z]/.test(key)) return false;
  if (isKnown(key) || open === undefined) return true;
  const runsOn = open.lines.slice(1).some((line) => /^\S/.test(line)) || open.lines.join("\n").includes("<example>");
  return !runsOn && !speakers.has(key);
}

function asText(block: Block, line: number): Field {
  const first = block.lines[0] ?? "";
  const text = [first.slice(first.indexOf(":") + 1), ...block.lines.slice(1)].join("\n").trim();
  const unmarked = text.replace(/^[|>][-+]?[ \t]*\n/, "");
  return { key: block.key, value: unquote(unmarked), raw: text, line };
}

function unquote(text: string): string {
  const quote = text.charAt(0);
  if (text.length < 2 || (quote !== '"' && quote !== "'")) return text;
  if (!text.endsWith(quote)) return text;
  // Several quoted texts (`"a", "b"`) are not one quoted text.
  const inner = text.slice(1, -1);
  if (/^[^"']*["']\s*,\s*["']/.test(inner)) return text;
  return quote === '"' ? inner.replace(/\\(["\\])/g, "$1") : inner.replaceAll("''", "'");
}
