import { describeError, isRecord } from "../../lib/index.ts";
import type { JsonSchema } from "../../protocol/index.ts";
import { optionError } from "../check-options.ts";
import { findSchemaProblem } from "./check-json-schema.ts";
import { isSchema, isStandard, type ReadSchema, readSchema, type Schema } from "./schema.ts";

export interface UserSchema {
  readonly schema: Schema;
  /** JSON Schema that the program passes in addition to a library's schema. */
  readonly json?: JsonSchema | undefined;
  /** Begins messages about the schema, such as `The input of the tool "stock"`. */
  readonly what: string;
  /** Name of the option that accepts this JSON Schema. */
  readonly option: string;
}

/** Reads a schema that a program supplies. Throws a `UserError` if it can't be used. */
export function readUserSchema({ schema, json, what, option }: UserSchema): ReadSchema {
  if (!isSchema(schema)) throw optionError(`${what} is not a schema`, fixFor(option));
  if (!isStandard(schema)) checkJson(what, schema);
  if (json !== undefined) checkJson(`The ${option} for ${lowered(what)}`, json);
  let read: ReadSchema | undefined;
  try {
    read = readSchema(schema, json);
  } catch (error) {
    throw optionError(
      `${what} can't be converted to JSON Schema: ${describeError(error)}`,
      `Use only types that JSON supports, or also pass the JSON Schema as ${option}.`,
    );
  }
  if (read === undefined)
    throw optionError(`${what} comes from a library that can't convert it to JSON Schema`, fixFor(option));
  return read;
}

function checkJson(what: string, schema: unknown): void {
  if (!isRecord(schema)) throw optionError(`${what} is not a JSON Schema`, "Use an object.");
  const problem = findSchemaProblem(schema);
  if (problem !== undefined) throw optionError(`${what} ${problem.message}`, problem.fix);
}

function fixFor(option: string): string {
  return `Use a zod 4 or arktype schema, a valibot schema wrapped in toStandardJsonSchema from @valibot/to-json-schema, or a JSON Schema. With other libraries, also pass the JSON Schema as ${option}.`;
}

function lowered(what: string): string {
  return what.replace(/^The /, "the ");
}
