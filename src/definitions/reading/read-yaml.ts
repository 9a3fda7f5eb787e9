import type * as Yaml from "yaml";
import type { Diagnostic } from "../../protocol/index.ts";
import type { Field } from "./field-reader.ts";

export interface YamlRequest {
  readonly source: string;
  /** Line number in the file at which the source begins, starting at 1. */
  readonly firstLine: number;
  readonly file: string;
  /** Returns true for known fields. Only these end multi-line text. */
  readonly isKnown: (key: string) => boolean;
}

export interface ReadYaml {
  /** The fields; undefined if the source can't be read, in which case the diagnostics say why. */
  readonly fields?: readonly Field[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads the fields in frontmatter as YAML, or line by line if the frontmatter is not valid YAML. */
export async function readYamlFields({ source, firstLine, file, isKnown }: YamlRequest): Promise<ReadYaml> {
  const readYaml = await loadYamlReader();
  const strict = readYaml(source, firstLine);
  if (strict.kind === "fields") return { fields: strict.fields, diagnostics: [] };
  const { line, message } = strict;
  if (strict.kind === "hostile")
    return { diagnostics: [{ severity: "error", file, line, code: "yaml_refused", message }] };
  const problem = { file, line, code: "yaml_error", message, fix: strict.fix } as const;
  const fields = readTolerantYaml(source, { firstLine, isKnown, readYaml });
  if (!fields.some((field) => isKnown(field.key))) return { diagnostics: [{ severity: "error", ...problem }] };
  const warning: Diagnostic = {
    severity: "warning",
    ...problem,
    message: `${message} The frontmatter was read line by line instead.`,
  };
  return { fields, diagnostics: [warning] };
}

type StrictYaml =
  | { readonly kind: "fields"; readonly fields: readonly Field[] }
  /** The source is not YAML, or not a mapping. The tolerant reader may still find the fields. */
  | ({ readonly kind: "broken"; readonly line: number } & YamlProblem)
  /** The source exceeds a limit on aliases or nesting. The tolerant reader is not tried. */
  | { readonly kind: "hostile"; readonly line: number; readonly message: string };

interface YamlProblem {
  readonly message: string;
  /** What to change in the file. */
  readonly fix: string;
}

type YamlReader = (source: string, firstLine: number) => StrictYaml;

/** Loads the `yaml` package on first use, because a run without definition files does not need it. */
async function loadYamlReader(): Promise<YamlReader> {
  loading ??= import("yaml").then((yaml) => (source, firstLine) => readStrictYaml(yaml, { source, firstLine }));
  return loading;
}

let loading: Promise<YamlReader> | undefined;

const maxAliases = 20;
const maxDepth = 200;

function readStrictYaml(yaml: typeof Yaml, { source, firstLine }: { source: string; firstLine: number }): StrictYaml {
  const lines = new yaml.LineCounter();
  const lineOf = (offset: number | undefined) => firstLine + Math.max(0, lines.linePos(offset ?? 0).line - 1);
  if (mayNestTooDeeply(yaml, source)) return { kind: "hostile", line: firstLine, message: nestedTooDeeply };
  try {
    const document = yaml.parseDocument(source, {
      lineCounter: lines,
      prettyErrors: false,
      schema: "core",
      merge: false,
      uniqueKeys: true,
      logLevel: "silent",
    });
    // The `yaml` package only warns about an unknown tag, but the tag would be missing from the text.
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) {
      const start = unclosedStart(yaml, document, problem) ?? problem.pos[0];
      return { kind: "broken", line: lineOf(start), ...describeProblem(problem) };
    }
    if (!yaml.isMap(document.contents))
      return {
        kind: "broken",
        line: firstLine,
        message: "The frontmatter is not a list of `key: value` lines.",
        fix: oneField,
      };
    const values = document.toJS({ maxAliasCount: maxAliases, mapAsMap: true }) as Map<unknown, unknown>;
    const fields = document.contents.items.map((pair) => toField(yaml, { pair, values, source, lineOf }));
    return { kind: "fields", fields };
  } catch (error) {
    // Other errors at this point are treated as attacks, but an alias without an anchor is a typo: `- Bash(git: *)`.
    if (error instanceof ReferenceError && error.message.startsWith("Unresolved alias"))
      return {
        kind: "broken",
        line: firstLine,
        message: "A word that begins with `*` is an alias without an anchor.",
        fix: quote,
      };
    return { kind: "hostile", line: firstLine, message: describeHostile(error) };
  }
}

/**
 * Returns the start of a quoted value or a list that is not closed. The parser reports such a value where it gave up,
 * which may be many lines below.
 */
function unclosedStart(yaml: typeof Yaml, document: Yaml.Document, problem: Yaml.YAMLError): number | undefined {
  if (!/^Missing closing|must end with|must be sufficiently indented and end with/.test(problem.message))
    return undefined;
  let start: number | undefined;
  const consider = (node: Yaml.Scalar | Yaml.YAMLMap | Yaml.YAMLSeq): void => {
    const isEnclosed = yaml.isScalar(node) ? /^QUOTE/.test(node.type ?? "") : node.flow === true;
    if (isEnclosed && node.range && node.range[0] <= problem.pos[0]) start = node.range[0];
  };
  yaml.visit(document, { Scalar: (_, node) => consider(node), Collection: (_, node) => consider(node) });
  return start;
}

/**
 * Returns true if values may be nested too deeply. Checked before parsing, because V8 can end the process when the
 * recursion of the parser exhausts the stack. A value is nested by brackets, by indentation, and by indicators before
 * it on the same line.
 */
function mayNestTooDeeply(yaml: typeof Yaml, source: string): boolean {
  let depth = 0;
  /** Nesting depth outside each open bracket, outermost first. */
  let outside: number[] = [];
  let before: string | undefined;
  for (const token of new yaml.Lexer().lex(source)) {
    // A `scalar` token announces that the next token is text.
    const type = before === "scalar" ? "text" : (yaml.CST.tokenType(token) ?? "text");
    if (type === "flow-seq-start" || type === "flow-map-start") {
      outside.push(depth);
      depth += 1;
    } else if (type === "flow-seq-end" || type === "flow-map-end") depth = outside.pop() ?? depth;
    else if (type === "flow-error-end") outside = [];
    else if (type === "comma") depth = (outside.at(-1) ?? depth) + 1;
    else if (type === "newline" && outside.length === 0) depth = 0;
    else if (type === "space" && before === "newline" && outside.length === 0) depth = token.length;
    else if (type.endsWith("-ind")) depth += 1;
    if (depth > maxDepth) return true;
    before = type;
  }
  return false;
}

interface PairContext {
  readonly pair: Yaml.Pair<unknown, unknown>;
  readonly values: ReadonlyMap<unknown, unknown>;
  readonly source: string;
  readonly lineOf: (offset: number | undefined) => number;
}

function toField(yaml: typeof Yaml, { pair, values, source, lineOf }: PairContext): Field {
  const { key, value } = pair;
  const keyValue = yaml.isScalar(key) ? key.value : String(key);
  const text = yaml.isScalar(value) && typeof value.value !== "string" ? (value.source ?? "") : undefined;
  const range = yaml.isNode(value) ? value.range : undefined;
  return {
    key: String(keyValue),
    value: toPlain(values.get(keyValue) ?? null),
    text,
    raw: range ? source.slice(range[0], range[1]) : undefined,
    line: lineOf(yaml.isNode(key) ? key.range?.[0] : undefined),
  };
}

/** Converts maps to plain objects in which `__proto__` is an ordinary key. */
function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain);
  if (!(value instanceof Map)) return typeof value === "bigint" ? Number(value) : value;
  return Object.fromEntries([...value].map(([key, item]) => [String(key), toPlain(item)]));
}

const nestedTooDeeply = "The frontmatter is nested too deeply.";

function describeHostile(error: unknown): string {
  if (error instanceof ReferenceError) return `More than ${maxAliases} aliases (\`*name\`) are not supported.`;
  if (error instanceof RangeError) return nestedTooDeeply;
  return `The frontmatter can't be read: ${error instanceof Error ? firstSentence(error.message) : String(error)}`;
}

function describeProblem({ code, message }: Yaml.YAMLError): YamlProblem {
  const [, open] = /^Missing closing (["'])quote/.exec(message) ?? [];
  if (open !== undefined)
    return {
      message: `A value that begins with ${open} has no closing ${open}.`,
      fix: `Add ${open} at the end of the value.`,
    };
  const [, bracket] = /must end with a ([\]}])|and end with a ([\]}])/.exec(message)?.filter(Boolean) ?? [];
  if (bracket !== undefined)
    return { message: `A value has no closing ${bracket}.`, fix: `Add ${bracket} at the end of the value.` };
  const [, character] = /^Plain value cannot start with .* character (.)$/.exec(message) ?? [];
  if (character !== undefined)
    return { message: `An unquoted value begins with ${character}, which YAML does not allow.`, fix: quote };
  if (code === "TAB_AS_INDENT")
    return { message: "A line is indented with a tab.", fix: "Indent with spaces instead." };
  if (code === "DUPLICATE_KEY") return { message: "A field occurs twice.", fix: "Remove one of the two." };
  if (code === "BLOCK_AS_IMPLICIT_KEY" && message.startsWith("Nested mappings"))
    return { message: 'An unquoted value contains ": ", which YAML does not allow.', fix: quote };
  if (code === "BLOCK_AS_IMPLICIT_KEY" || code === "BAD_INDENT")
    return {
      message: "The indentation of a line does not match the lines above it.",
      fix: "Indent all items of a list, and all fields of a mapping, by the same number of spaces.",
    };
  if (code === "MULTILINE_IMPLICIT_KEY" || message.startsWith("Implicit map keys"))
    return { message: "A line is not a `key: value` pair.", fix: oneField };
  if (message.startsWith("Unexpected block-seq-ind"))
    return {
      message: "A list begins on the same line as its key.",
      fix: "Put each item on a line of its own below the key.",
    };
  return { message: firstSentence(message), fix: quote };
}

const quote = 'Put the value in double quotes, or write it below the key after "|".';
const oneField = 'Write each field as "key: value", with a space after the colon.';

function firstSentence(message: string): string {
  const line = message.split("\n")[0] ?? message;
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

interface TolerantOptions extends Pick<YamlRequest, "firstLine" | "isKnown"> {
  readonly readYaml: YamlReader;
}

/**
 * Reads frontmatter that is not valid YAML but clear to a person, for example because of colons in unquoted text,
 * unindented examples or `tools: *`. Splits the source at lines that start with a key. Each piece is parsed as YAML
 * separately, or kept as text.
 */
function readTolerantYaml(source: string, options: TolerantOptions): Field[] {
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

/**
 * Returns true if a key starts a new field. A capitalized key is prose (`Context:`), and an unknown key starts a field
 * only outside multi-line text.
 */
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
  if (!text.slice(1).includes(quote)) return text.slice(1);
  if (!text.endsWith(quote)) return text;
  // Several quoted strings (`"a", "b"`) are not one quoted string.
  const inner = text.slice(1, -1);
  if (/^[^"']*["']\s*,\s*["']/.test(inner)) return text;
  return quote === '"' ? inner.replace(/\\(["\\])/g, "$1") : inner.replaceAll("''", "'");
}
