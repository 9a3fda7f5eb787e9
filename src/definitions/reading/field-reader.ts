import type { Diagnostic, JsonObject } from "../../protocol/index.ts";
import type { AgentField, FieldNames } from "./field-names.ts";

/** One top-level entry in frontmatter or in the JSON form. */
export interface Field {
  /** Key as written in the file. */
  readonly key: string;
  readonly value: unknown;
  /** Source text of a scalar that is not a string: `007`, `1.10`. */
  readonly text?: string | undefined;
  /** Source text of the value, for parsers that accept more than YAML does. */
  readonly raw?: string | undefined;
  /** Line number in the file, starting at 1. */
  readonly line: number;
}

/** The syntax that a definition is written in, so that messages suggest fixes in the same syntax. */
export interface FieldSyntax {
  readonly form: "yaml" | "json";
  /** Noun that messages use for one field. */
  readonly unit: "line" | "key";
  /** Returns a field as the author would write it. */
  entry(key: string, value: string | boolean | readonly string[]): string;
}

export const yamlSyntax: FieldSyntax = {
  form: "yaml",
  unit: "line",
  entry: (key, value) => `"${key}: ${typeof value === "object" ? value.join(", ") || "[]" : value}"`,
};

export const jsonSyntax: FieldSyntax = {
  form: "json",
  unit: "key",
  entry: (key, value) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`,
};

export type FieldProblem = Pick<Diagnostic, "code" | "message" | "fix" | "tool">;

export interface FieldReaderRequest<Name extends string> {
  readonly file: string;
  readonly fields: readonly Field[];
  readonly names: FieldNames<Name>;
  /** Fields that prevent the definition from loading if they have two contradictory values. */
  readonly strict: ReadonlySet<Name>;
  readonly diagnostics: Diagnostic[];
  /** Kind of definition, for messages. Defaults to an agent. */
  readonly kind?: "agent" | "skill" | undefined;
  /** Syntax for suggested fixes. Defaults to YAML. */
  readonly syntax?: FieldSyntax | undefined;
  /** True if the definition is not in a file: a program or the command line contains it. */
  readonly definedInCode?: boolean | undefined;
}

export type AgentFieldReader = FieldReader<AgentField>;

/** Finds the fields of one definition by name or alias, and collects diagnostics about the definition. */
export class FieldReader<Name extends string> {
  readonly diagnostics: Diagnostic[];
  /** Unknown fields as written in the file; undefined if there are none. */
  readonly unknown: JsonObject | undefined;
  readonly unknownFields: readonly Field[];
  readonly syntax: FieldSyntax;
  readonly definedInCode: boolean;
  readonly #file: string;
  readonly #kind: "agent" | "skill";
  readonly #byName = new Map<Name, Field>();
  #refused = false;

  constructor(request: FieldReaderRequest<Name>) {
    const { file, fields, names, strict, diagnostics, kind = "agent", syntax = yamlSyntax } = request;
    this.syntax = syntax;
    this.definedInCode = request.definedInCode === true;
    this.#kind = kind;
    this.#file = file;
    this.diagnostics = diagnostics;
    const unknown: Field[] = [];
    for (const field of fields) {
      const name = names.resolve(field.key);
      const first = name === undefined ? undefined : this.#byName.get(name);
      const restriction = name === undefined ? names.misspelledRestriction(field.key) : undefined;
      if (restriction !== undefined) this.#refuseMisspelled(field, restriction);
      else if (name === undefined) unknown.push(field);
      else if (first === undefined) this.#byName.set(name, field);
      else if (!sameValue(first, field)) this.#reportDuplicate(field, { first, isStrict: strict.has(name) });
    }
    this.unknownFields = unknown;
    if (unknown.length === 0) return;
    this.unknown = toJsonObject(unknown);
    this.#reportUnknown(names);
  }

  get(name: Name): Field | undefined {
    return this.#byName.get(name);
  }

  get present(): Iterable<Name> {
    return this.#byName.keys();
  }

  /** True once `refuse` has been called. */
  get refused(): boolean {
    return this.#refused;
  }

  /** Returns the file and line of a field, for messages; undefined if the definition is not in a file. */
  placeOf({ line }: Field): string | undefined {
    return this.definedInCode ? undefined : `${this.#file}:${line}`;
  }

  notice(field: Field, problem: FieldProblem): void {
    this.diagnostics.push({ severity: "notice", file: this.#file, line: field.line, ...problem });
  }

  /** Reports a problem. The definition loads without the field. */
  warn(field: Field, problem: FieldProblem): void {
    this.diagnostics.push({ severity: "warning", file: this.#file, line: field.line, ...problem });
  }

  /** Reports a problem that keeps the definition from loading. */
  refuse(field: Field, problem: FieldProblem): void {
    this.diagnostics.push({ severity: "error", file: this.#file, line: field.line, ...problem });
    this.#refused = true;
  }

  #refuseMisspelled(field: Field, meant: string): void {
    this.refuse(field, {
      code: "misspelled_field",
      message: `Unknown field "${field.key}". The ${this.#kind} is not loaded, so that it can't ${this.#kind === "agent" ? "run" : "be used"} with more rights than intended.`,
      fix: `Did you mean "${meant}"? Correct the name, or delete the ${this.syntax.unit}.`,
    });
  }

  /** Reports likely typos one by one, and all other unknown fields together. */
  #reportUnknown(names: FieldNames<Name>): void {
    const code = "unknown_field";
    const others = this.unknownFields.filter(({ key }) => names.misspelled(key) === undefined);
    const [first] = others;
    if (first !== undefined) {
      const shown = others.slice(0, 8).map(({ key }) => `"${key.slice(0, 60)}"`);
      const rest = others.length > shown.length ? ` and ${others.length - shown.length} more` : "";
      const message = `Unknown fields, which have no effect and are kept as written: ${shown.join(", ")}${rest}.`;
      this.notice(first, { code, message });
    }
    for (const field of this.unknownFields) {
      const meant = names.misspelled(field.key);
      if (meant === undefined) continue;
      const message = `Unknown field "${field.key}"; it has no effect.`;
      this.notice(field, { code, message, fix: `Did you mean "${meant}"?` });
    }
  }

  #reportDuplicate(field: Field, { first, isStrict }: { first: Field; isStrict: boolean }): void {
    const { unit, form } = this.syntax;
    const earlier = form === "yaml" ? `"${first.key}" on line ${first.line}` : `the earlier "${first.key}"`;
    const problem = {
      code: "duplicate_field",
      message: `"${field.key}" is repeated; ${isStrict ? `it contradicts ${earlier}` : `${earlier} is used`}.`,
      fix: `Keep one of the two ${unit}s.`,
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
