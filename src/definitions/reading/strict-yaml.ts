import type * as Yaml from "yaml";
import type { Field } from "./field-reader.ts";

export type StrictYaml =
  | { readonly kind: "fields"; readonly fields: readonly Field[] }
  /** Not YAML, or not a mapping. The tolerant reader may still find the fields. */
  | { readonly kind: "broken"; readonly line: number; readonly message: string }
  /** Exceeds a limit on aliases or nesting. No other reader is tried. */
  | { readonly kind: "hostile"; readonly line: number; readonly message: string };

export type YamlReader = (source: string, firstLine: number) => StrictYaml;

/** Loads the `yaml` package on first use: a run without definition files does not need it. */
export async function loadYamlReader(): Promise<YamlReader> {
  loading ??= import("yaml").then((yaml) => (source, firstLine) => readStrictYaml(yaml, { source, firstLine }));
  return loading;
}

let loading: Promise<YamlReader> | undefined;

const maxAliases = 20;

function readStrictYaml(yaml: typeof Yaml, { source, firstLine }: { source: string; firstLine: number }): StrictYaml {
  const lines = new yaml.LineCounter();
  const lineOf = (offset: number | undefined) => firstLine + Math.max(0, lines.linePos(offset ?? 0).line - 1);
  try {
    const document = yaml.parseDocument(source, {
      lineCounter: lines,
      prettyErrors: false,
      schema: "core",
      merge: false,
      uniqueKeys: true,
      logLevel: "silent",
    });
    // For `yaml` an unknown tag is only a warning, but it would be missing from the text.
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined)
      return { kind: "broken", line: lineOf(problem.pos[0]), message: describeProblem(problem) };
    if (!yaml.isMap(document.contents))
      return { kind: "broken", line: firstLine, message: "The frontmatter is not a list of `key: value` lines." };
    const values = document.toJS({ maxAliasCount: maxAliases, mapAsMap: true }) as Map<unknown, unknown>;
    const fields = document.contents.items.map((pair) => toField(yaml, { pair, values, source, lineOf }));
    return { kind: "fields", fields };
  } catch (error) {
    // An alias without an anchor is a typing error (`- Bash(git: *)`), not an attack.
    if (error instanceof ReferenceError && error.message.startsWith("Unresolved alias"))
      return { kind: "broken", line: firstLine, message: "A word that begins with `*` refers to nothing." };
    return { kind: "hostile", line: firstLine, message: describeHostile(error) };
  }
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

/** Converts maps to objects in which `__proto__` is a key like any other. */
function toPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlain);
  if (!(value instanceof Map)) return typeof value === "bigint" ? Number(value) : value;
  return Object.fromEntries([...value].map(([key, item]) => [String(key), toPlain(item)]));
}

function describeHostile(error: unknown): string {
  if (error instanceof ReferenceError) return `More than ${maxAliases} aliases (\`*name\`) are not read.`;
  if (error instanceof RangeError) return "The frontmatter is nested too deeply.";
  return `The frontmatter can't be read: ${error instanceof Error ? firstSentence(error.message) : String(error)}`;
}

function describeProblem({ code, message }: Yaml.YAMLError): string {
  if (code === "BLOCK_AS_IMPLICIT_KEY" && message.startsWith("Nested mappings"))
    return 'An unquoted value contains ": ", which YAML does not allow.';
  return firstSentence(message);
}

function firstSentence(message: string): string {
  const line = message.split("\n")[0] ?? message;
  return /[.!?]$/.test(line) ? line : `${line}.`;
}
