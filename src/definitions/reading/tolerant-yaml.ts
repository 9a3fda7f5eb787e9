import type { Field } from "./field.ts";
import { readSimpleYaml } from "./simple-yaml.ts";
import type { YamlReader } from "./strict-yaml.ts";

export interface TolerantOptions {
  readonly firstLine: number;
  /** Whether a key is a field of the format: only those end a text that runs on. */
  readonly isKnown: (key: string) => boolean;
  readonly readYaml: YamlReader;
}

/**
 * The second reading, for what YAML refuses although a person sees what is meant: colons in unquoted text, examples at the
 * left edge, `tools: *`. Cuts at lines that begin with a key; each piece is read as YAML on its own, else taken as text.
 */
export function readTolerantYaml(source: string, options: TolerantOptions): Field[] {
  const fields: Field[] = [];
  for (const block of cutBlocks(source, options.isKnown)) {
    const line = options.firstLine + block.index;
    fields.push(readAlone(block, { ...options, firstLine: line }) ?? asText(block, line));
  }
  return fields;
}

/**
 * The same where it can be had without a YAML reader: every piece is simple, or one line of unquoted text with a colon
 * in it, which no YAML reader takes. Undefined: can't be said so quickly.
 */
export function readCarelessYaml(
  source: string,
  { firstLine, isKnown }: Omit<TolerantOptions, "readYaml">,
): { readonly fields: Field[]; readonly line: number } | undefined {
  let careless: number | undefined;
  const onCareless = (line: number) => {
    careless ??= line;
  };
  const fields = readSimpleYaml(source, { firstLine, onCareless });
  if (fields === undefined || careless === undefined || /^#/m.test(source)) return undefined;
  const mayRunOn = /^-/m.test(source) || source.includes("<example>");
  const startsAny = ({ key }: Field) => /^[a-z_]/.test(key) && (isKnown(key) || (!mayRunOn && !speakers.has(key)));
  return fields.every(startsAny) ? { fields, line: careless } : undefined;
}

function readAlone(block: Block, { firstLine, readYaml }: TolerantOptions): Field | undefined {
  const source = `${block.lines.join("\n")}\n`;
  const simple = readSimpleYaml(source, { firstLine });
  if (simple !== undefined) return simple.length === 1 ? simple[0] : undefined;
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

/** A capital is prose (`Context:`), and an unknown word is a field only where no longer text is under way. */
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
  // Quotes in pairs inside (`"a", "b"`) are no quotes around the whole.
  const inner = text.slice(1, -1);
  if (/^[^"']*["']\s*,\s*["']/.test(inner)) return text;
  return quote === '"' ? inner.replace(/\\(["\\])/g, "$1") : inner.replaceAll("''", "'");
}
