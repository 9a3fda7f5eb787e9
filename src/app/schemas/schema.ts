import { isRecord } from "../../lib/index.ts";
import type { JsonSchema } from "../../protocol/index.ts";
import { validateJson } from "./validate-json.ts";

/**
 * A schema from any library that implements Standard Schema, such as zod, valibot or arktype. If the library also
 * implements Standard JSON Schema, `jsonSchema` converts the schema.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema for `defineTool` and `session.prompt`: from a library (Standard Schema), or a JSON Schema. */
export type Schema = StandardSchema | { readonly [keyword: string]: unknown };

/** Type of the values that a schema describes. The types of a JSON Schema are inferred from its most common keywords. */
export type SchemaValue<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : JsonSchemaValue<S>;

type JsonSchemaValue<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly const: infer Value }
    ? Value
    : S extends { readonly type: keyof SimpleTypes }
      ? SimpleTypes[S["type"]]
      : S extends { readonly type: "array"; readonly items: infer Items }
        ? JsonSchemaValue<Items>[]
        : S extends { readonly type: "object"; readonly properties: infer Properties }
          ? ObjectValue<Properties, S extends { readonly required: readonly (infer Names)[] } ? Names : never>
          : S extends { readonly type: "object" }
            ? { readonly [name: string]: unknown }
            : unknown;

interface SimpleTypes {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

type ObjectValue<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: JsonSchemaValue<Properties[Name]>;
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: JsonSchemaValue<Properties[Name]>;
};

export type Validation =
  | { readonly ok: true; readonly value: unknown }
  /** The problems, each with its path, on one line. */
  | { readonly ok: false; readonly problems: string };

export interface ReadSchema {
  readonly json: JsonSchema;
  /** Rejects only if the schema itself fails. */
  validate(value: unknown): Promise<Validation>;
  /**
   * Returns the problems that the JSON Schema finds in a value; undefined if it is valid, or if the schema can't be
   * used.
   */
  problemsIn(value: unknown): Promise<string | undefined>;
}

/** Returns whether a value can be a schema. */
export function isSchema(value: unknown): value is Schema {
  return isStandard(value) || isRecord(value);
}

/**
 * Reads a schema: its validation function, and the JSON Schema for the model. Returns undefined if its library can't
 * convert it; the program must then pass the JSON Schema too. Throws if the conversion fails.
 */
export function readSchema(schema: Schema, given?: JsonSchema): ReadSchema | undefined {
  const json = isStandard(schema) ? (given ?? converted(schema)) : (schema as JsonSchema);
  if (json === undefined) return undefined;
  const validate = async (value: unknown): Promise<Validation> =>
    isStandard(schema) ? validationOf(await schema["~standard"].validate(value)) : checkPlain(schema, value);
  const problemsIn = async (value: unknown): Promise<string | undefined> => {
    const checked = await checkPlain(json, value).catch(() => undefined);
    return checked?.ok === false ? checked.problems : undefined;
  };
  return { json, validate, problemsIn };
}

// Arktype schemas are functions.
export function isStandard(value: unknown): value is StandardSchema {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}

/** Ways in which libraries convert a schema: Standard JSON Schema, or a method. */
interface Convertible {
  readonly "~standard": { readonly jsonSchema?: { input(options: { readonly target: string }): unknown } };
  readonly toJSONSchema?: () => unknown;
  readonly toJsonSchema?: () => unknown;
}

function converted(schema: unknown): JsonSchema | undefined {
  const convertible = schema as Convertible;
  const { jsonSchema } = convertible["~standard"];
  const json =
    jsonSchema?.input({ target: "draft-2020-12" }) ?? convertible.toJSONSchema?.() ?? convertible.toJsonSchema?.();
  if (!isRecord(json)) return undefined;
  // The schema is copied because some libraries attach the schema object itself. Providers don't need the version.
  const { $schema: _, ...rest } = JSON.parse(JSON.stringify(json)) as Record<string, unknown>;
  return rest as JsonSchema;
}

async function checkPlain(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<Validation> {
  const problems = await validateJson(schema, value);
  if (problems.length === 0) return { ok: true, value };
  return { ok: false, problems: inOneLine(problems.map(({ path, message }) => ({ path, text: ` ${message}` }))) };
}

function validationOf(result: StandardResult<unknown>): Validation {
  if (result.issues === undefined) return { ok: true, value: result.value };
  const issues = result.issues.map(({ path = [], message }) => ({
    path: path.map((part) => String(typeof part === "object" ? part.key : part)).join("."),
    text: `: ${message}`,
  }));
  return { ok: false, problems: inOneLine(issues) };
}

const mostShown = 6;

function inOneLine(problems: readonly { readonly path: string; readonly text: string }[]): string {
  const shown = problems
    .slice(0, mostShown)
    .map(({ path, text }) => `${path === "" ? "the value" : `\`${path}\``}${text}`);
  const more = problems.length - shown.length;
  return `${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}
