import type { Diagnostic, JsonObject } from "../../protocol/index.ts";
import { type CureWords, yamlWords } from "./cure-words.ts";
import type { Field } from "./field.ts";
import type { FieldNames } from "./field-names.ts";

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
  /** Absent: those of YAML. */
  readonly words?: CureWords | undefined;
}

/** The fields of one definition by their meaning, and the place where all complaints about it are collected. */
export class FieldReader<Name extends string> {
  readonly diagnostics: Diagnostic[];
  /** What nobody here knows, as it was; undefined if there is nothing. */
  readonly unknown: JsonObject | undefined;
  readonly words: CureWords;
  readonly #file: string;
  readonly #byName = new Map<Name, Field>();
  #refused = false;

  constructor({ file, fields, names, strict, diagnostics, words = yamlWords }: FieldReaderRequest<Name>) {
    this.words = words;
    this.#file = file;
    this.diagnostics = diagnostics;
    const unknown: Field[] = [];
    for (const field of fields) {
      const name = names.resolve(field.key);
      const first = name === undefined ? undefined : this.#byName.get(name);
      if (name === undefined) unknown.push(field);
      else if (first === undefined) this.#byName.set(name, field);
      else if (!sameValue(first, field)) this.#reportDuplicate(field, { first, isStrict: strict.has(name) });
    }
    if (unknown.length === 0) return;
    this.unknown = toJsonObject(unknown);
    diagnostics.push(describeUnknown(unknown, { file, names }));
  }

  get(name: Name): Field | undefined {
    return this.#byName.get(name);
  }

  get present(): Iterable<Name> {
    return this.#byName.keys();
  }

  /** Something that may not load was found. */
  get refused(): boolean {
    return this.#refused;
  }

  notice(field: Field, problem: FieldProblem): void {
    this.diagnostics.push({ severity: "notice", file: this.#file, line: field.line, ...problem });
  }

  /** The definition loads, without this. */
  warn(field: Field, problem: FieldProblem): void {
    this.diagnostics.push({ severity: "warning", file: this.#file, line: field.line, ...problem });
  }

  /** The definition must not load. */
  refuse(field: Field, problem: FieldProblem): void {
    this.diagnostics.push({ severity: "error", file: this.#file, line: field.line, ...problem });
    this.#refused = true;
  }

  #reportDuplicate(field: Field, { first, isStrict }: { first: Field; isStrict: boolean }): void {
    const { line, form } = this.words;
    const where = form === "yaml" ? `line ${first.line} has "${first.key}" already` : `"${first.key}" is there already`;
    const problem = {
      code: "duplicate_field",
      message: `"${field.key}" is given again; ${where}${isStrict ? "" : ", which counts"}.`,
      fix: `Keep one of the two ${line}s.`,
    };
    if (isStrict) this.refuse(field, problem);
    else this.warn(field, problem);
  }
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
