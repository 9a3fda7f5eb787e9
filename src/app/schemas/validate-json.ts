import type { OutputUnit, Schema } from "@cfworker/json-schema";
import { checkSchema, type SchemaProblem } from "../../lib/index.ts";
import { decodeSegment, draftOf, member, resolveReference } from "./check-json-schema.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Checks a value against a program's JSON Schema, which must already have been checked. Returns an empty list for a
 * valid value. Rejects if the schema can't be used.
 */
export async function validateJson(schema: JsonSchema, value: unknown): Promise<readonly SchemaProblem[]> {
  // Loaded only when a value is validated, because most programs use a schema library and never need it.
  const { Validator } = await import("@cfworker/json-schema");
  const { valid, errors } = new Validator(schema as Schema, draftOf(schema), false).validate(value);
  if (valid) return [];
  const known = new Set<string>();
  return describeErrors(errors, { schema, value }).filter(({ path, message }) => {
    const isNew = !known.has(`${path} ${message}`);
    known.add(`${path} ${message}`);
    return isNew;
  });
}

interface Validated {
  readonly schema: JsonSchema;
  readonly value: unknown;
}

/** Rephrases the library's errors. Each error is followed by the errors of the schemas inside its keyword. */
function describeErrors(errors: readonly OutputUnit[], validated: Validated): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  for (let index = 0; index < errors.length; index++) {
    const error = errors[index] as OutputUnit;
    const end = errors.findIndex((other, at) => at > index && !isInside(error, other));
    const inside = errors.slice(index + 1, end === -1 ? undefined : end);
    const next = errors[index + 1];
    if (error.keyword === "anyOf" || error.keyword === "oneOf") {
      problems.push(...describeChoice(error, inside, validated));
      index += inside.length;
    } else if (error.keyword === "propertyNames") {
      const name = next === undefined ? "" : placeOf(next, validated).path;
      problems.push({ path: placeOf(error, validated).path, message: `must not have a property named ${name}` });
      index += inside.length;
    } else if (next?.keyword === "false") {
      problems.push(describeForbidden(error, next, validated));
      index++;
    } else if (!containers.has(error.keyword)) problems.push(...describeError(error, validated));
  }
  return problems;
}

/**
 * Keywords that contain schemas. The errors from those schemas follow separately, so these keywords need no message.
 */
const containers = new Set([
  ...["$ref", "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "dependentSchemas"],
  ...["items", "prefixItems", "additionalItems", "unevaluatedItems", "allOf", "if", "dependencies"],
]);

function isInside({ keywordLocation }: OutputUnit, other: OutputUnit): boolean {
  return other.keyword === "false" || other.keywordLocation.startsWith(`${keywordLocation}/`);
}

/** Describes the problems with the alternative that fits best, because the model most likely meant that one. */
function describeChoice(
  choice: OutputUnit,
  inside: readonly OutputUnit[],
  validated: Validated,
): readonly SchemaProblem[] {
  const { path } = placeOf(choice, validated);
  if (inside.length === 0) return [{ path, message: "must match exactly one of the schemas in oneOf, not several" }];
  const alternatives = new Map<string, OutputUnit[]>();
  let key = "";
  for (const error of inside) {
    if (error.keyword !== "false")
      key = error.keywordLocation.slice(choice.keywordLocation.length + 1).split("/")[0] ?? "";
    alternatives.set(key, [...(alternatives.get(key) ?? []), error]);
  }
  const fitting = [...alternatives.values()].filter(
    (errors) => !errors.some((error) => error.keyword === "type" && error.instanceLocation === choice.instanceLocation),
  );
  if (fitting.length === 0) {
    const types = inside.filter(({ keyword }) => keyword === "type").flatMap((error) => keywordOf(error, validated));
    return checkSchema({ type: types }, placeOf(choice, validated).value).map(({ message }) => ({ path, message }));
  }
  const described = fitting.map((errors) => describeErrors(errors, validated));
  return described.reduce((best, other) => (other.length < best.length ? other : best));
}

function describeForbidden(error: OutputUnit, forbidden: OutputUnit, validated: Validated): SchemaProblem {
  const { path, value } = placeOf(forbidden, validated);
  if (error.keyword !== "additionalProperties") return { path, message: "is not allowed" };
  const { properties = {} } = schemaOf(error, validated) as { readonly properties?: object };
  const name = decodeSegment(forbidden.instanceLocation.split("/").at(-1) ?? "");
  const [known] = checkSchema({ properties, additionalProperties: false }, { [name]: value });
  return { path, message: known?.message ?? "is not a known property" };
}

function describeError(error: OutputUnit, validated: Validated): readonly SchemaProblem[] {
  const { path, value } = placeOf(error, validated);
  const expected = keywordOf(error, validated);
  const known = expected === undefined ? [] : checkSchema({ [error.keyword]: expected }, value);
  if (known.length > 0) return known.map((problem) => ({ ...problem, path: joined(path, problem.path) }));
  return [
    {
      path,
      message:
        words[error.keyword]?.(expected) ?? `is not valid: ${error.error.replace(/\.$/, "").replace(/ +/g, " ")}`,
    },
  ];
}

/** Descriptions of keywords that only programs' schemas use. */
const words: Readonly<Record<string, (expected: unknown) => string>> = {
  format: (format) => `must have the format ${format}`,
  not: (schema) => `must not match ${JSON.stringify(schema)}`,
  exclusiveMinimum: (limit) => `must be above ${limit}`,
  exclusiveMaximum: (limit) => `must be below ${limit}`,
  multipleOf: (number) => `must be a multiple of ${number}`,
  uniqueItems: () => "must not contain an item twice",
  contains: (schema) => `must contain an item that matches ${JSON.stringify(schema)}`,
  minProperties: (count) => `must have ${count} or more properties`,
  maxProperties: (count) => `must have ${count} or fewer properties`,
};

function keywordOf(error: OutputUnit, validated: Validated): unknown {
  return member(schemaOf(error, validated), error.keyword);
}

/** Returns the schema that contains an error's keyword. */
function schemaOf({ keywordLocation }: OutputUnit, { schema }: Validated): unknown {
  return keywordLocation
    .split("/")
    .slice(1, -1)
    .reduce<unknown>((part, segment) => {
      const next = member(part, segment);
      return segment === "$ref" ? resolveReference(schema, next) : next;
    }, schema);
}

function placeOf({ instanceLocation }: OutputUnit, validated: Validated): { path: string; value: unknown } {
  let { value } = validated;
  let path = "";
  for (const segment of instanceLocation.split("/").slice(1)) {
    path = Array.isArray(value) ? `${path}[${segment}]` : joined(path, decodeSegment(segment));
    value = member(value, segment);
  }
  return { path, value };
}

function joined(path: string, name: string): string {
  if (path === "" || name === "") return `${path}${name}`;
  return name.startsWith("[") ? `${path}${name}` : `${path}.${name}`;
}
