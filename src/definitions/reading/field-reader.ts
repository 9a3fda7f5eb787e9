import type { Diagnostic, JsonObject } from "../../protocol/index.ts";
import type { Field } from "./field.ts";
import type { FieldNames } from "./field-names.ts";

/** The fields of one definition by their meaning, and the place where all complaints about it are collected. */
export interface FieldReader<Name extends string> {
  readonly diagnostics: Diagnostic[];
  get(name: Name): Field | undefined;
  /** What nobody here knows, as it was; undefined if there is nothing. */
  readonly unknown: JsonObject | undefined;
  /** The definition loads, without this. */
  warn(field: Field, problem: FieldProblem): void;
  notice(field: Field, problem: FieldProblem): void;
  /** The definition must not load. */
  refuse(field: Field, problem: FieldProblem): void;
  readonly refused: boolean;
}

export interface FieldProblem {
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

export interface FieldReaderRequest<Name extends string> {
  readonly file: string;
  readonly fields: readonly Field[];
  readonly names: FieldNames<Name>;
  /** Fields of which two contradicting values must not be guessed between. */
  readonly strict: ReadonlySet<Name>;
  readonly diagnostics: Diagnostic[];
}

export function createFieldReader<Name extends string>(request: FieldReaderRequest<Name>): FieldReader<Name> {
  const { file, names, diagnostics } = request;
  const byName = new Map<Name, Field>();
  const unknown: Field[] = [];
  let refused = false;
  const add = (severity: Diagnostic["severity"], field: Field, problem: FieldProblem) => {
    diagnostics.push({ severity, file, line: field.line, ...problem });
    if (severity === "error") refused = true;
  };
  for (const field of request.fields) {
    const name = names.resolve(field.key);
    const first = name === undefined ? undefined : byName.get(name);
    if (name === undefined) unknown.push(field);
    else if (first === undefined) byName.set(name, field);
    else if (!sameValue(first, field)) {
      const severity = request.strict.has(name) ? "error" : "warning";
      add(severity, field, {
        code: "duplicate_field",
        message: `"${field.key}" is given again; line ${first.line} has "${first.key}" already${severity === "error" ? "" : ", which counts"}.`,
        fix: "Keep one of the two lines.",
      });
    }
  }
  if (unknown.length > 0) diagnostics.push(describeUnknown(unknown, { file, names }));
  return {
    diagnostics,
    get: (name) => byName.get(name),
    unknown: unknown.length === 0 ? undefined : toJsonObject(unknown),
    warn: (field, problem) => add("warning", field, problem),
    notice: (field, problem) => add("notice", field, problem),
    refuse: (field, problem) => add("error", field, problem),
    get refused() {
      return refused;
    },
  };
}

function sameValue(a: Field, b: Field): boolean {
  return JSON.stringify(a.value) === JSON.stringify(b.value);
}

function toJsonObject(fields: readonly Field[]): JsonObject {
  return Object.fromEntries(fields.map((field) => [field.key, field.value])) as JsonObject;
}

interface UnknownContext {
  readonly file: string;
  readonly names: FieldNames<string>;
}

function describeUnknown(unknown: readonly Field[], { file, names }: UnknownContext): Diagnostic {
  const shown = unknown.slice(0, 8).map((field) => `"${field.key.slice(0, 60)}"`);
  const rest = unknown.length - shown.length;
  const guesses = unknown.slice(0, 8).flatMap((field) => {
    const name = names.nearest(field.key);
    return name === undefined ? [] : [`"${field.key.slice(0, 60)}" may mean "${name}"`];
  });
  return {
    severity: "notice",
    file,
    line: unknown[0]?.line ?? 1,
    code: "unknown_field",
    message: `No meaning here, kept as written: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`,
    ...(guesses.length > 0 ? { fix: `${guesses.join("; ")}.` } : {}),
  };
}
