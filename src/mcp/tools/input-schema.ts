import { isRecord } from "../../lib/index.ts";
import type { JsonObject, JsonSchema, JsonValue } from "../../protocol/index.ts";
import { nameProperties } from "./tool-names.ts";

/**
 * Converts the input schema of a server's tool to one that every provider accepts and `checkSchema` can read: an object
 * without alternatives at the top level and without invalid keywords.
 */
export function repairSchema(value: unknown): JsonSchema {
  if (!isRecord(value)) return { type: "object" };
  const { anyOf, oneOf, allOf, not, ...rest } = repairPart(value, 0) as JsonObject;
  return { ...rest, type: "object" };
}

const MAX_DEPTH = 40;

function repairPart(value: unknown, depth: number): JsonObject {
  if (value === false) return { not: {} };
  if (!isRecord(value) || depth > MAX_DEPTH) return {};
  const repaired: Record<string, JsonValue> = {};
  for (const [key, each] of Object.entries(value)) {
    const kept = repairKeyword(key, each, depth + 1);
    if (kept !== undefined) repaired[key] = kept;
  }
  return typeof value["pattern"] === "string" ? { ...repaired, ...withPattern(repaired, value["pattern"]) } : repaired;
}

/**
 * Adds a pattern to the description instead of applying it, because a slow regular expression would block every agent.
 */
function withPattern({ description }: Record<string, JsonValue>, pattern: string): { description: string } {
  const before = typeof description === "string" && description !== "" ? `${description} ` : "";
  return { description: `${before}(Must match ${pattern})` };
}

/** Returns the repaired value of a keyword; undefined if the keyword is invalid and must be left out. */
function repairKeyword(key: string, value: unknown, depth: number): JsonValue | undefined {
  switch (key) {
    case "properties":
    case "patternProperties":
    case "$defs":
    case "definitions":
    case "dependentSchemas":
      if (!isRecord(value)) return undefined;
      return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, repairPart(part, depth)]));
    case "items":
      // In older drafts, a list means `prefixItems`. Providers reject the whole request if it contains such a list.
      return Array.isArray(value) ? undefined : repairPart(value, depth);
    case "additionalProperties":
      return typeof value === "boolean" ? value : repairPart(value, depth);
    case "minimum":
    case "maximum":
    case "minLength":
    case "maxLength":
    case "minItems":
    case "maxItems":
      return typeof value === "number" && Number.isFinite(value) ? value : undefined;
    case "not":
    case "if":
    case "then":
    case "else":
    case "contains":
    case "propertyNames":
      return repairPart(value, depth);
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems":
      return Array.isArray(value) && value.length > 0 ? value.map((part) => repairPart(part, depth)) : undefined;
    case "required":
      return Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined;
    case "enum":
      return Array.isArray(value) ? (value as JsonValue[]) : undefined;
    case "type":
      return isType(value) ? value : undefined;
    case "pattern":
      return undefined;
    default:
      return value as JsonValue;
  }
}

const types: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

function isType(value: unknown): value is string | string[] {
  return Array.isArray(value) ? value.length > 0 && value.every((each) => types.includes(each)) : types.includes(value);
}

export interface RenamedProperties {
  readonly schema: JsonSchema;
  /** Converts an input from the model to the server's own property names. */
  restore(input: JsonObject): JsonObject;
}

/** Renames the properties in an input schema so that every provider accepts them. */
export function renameProperties(schema: JsonSchema): RenamedProperties {
  const { properties, required } = schema;
  if (!isRecord(properties)) return { schema, restore: (input) => input };
  const safe = nameProperties(Object.keys(properties));
  if ([...safe].every(([name, text]) => name === text)) return { schema, restore: (input) => input };
  const original = new Map([...safe].map(([name, text]) => [text, name]));
  const renamed = Object.entries(properties).map(([name, part]) => [safe.get(name) ?? name, part]);
  const needed = Array.isArray(required) ? (required as JsonValue[]).map((name) => safe.get(String(name)) ?? name) : [];
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(renamed) as JsonObject,
      required: needed.length > 0 ? needed : schema["required"],
    },
    restore: (input) =>
      Object.fromEntries(Object.entries(input).map(([name, value]) => [original.get(name) ?? name, value])),
  };
}
