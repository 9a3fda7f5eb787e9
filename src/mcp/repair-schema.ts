import type { JsonObject, JsonSchema, JsonValue } from "../protocol/index.ts";
import { isMapping } from "./check-server-config.ts";

/**
 * The schema a server gives for a tool's input, as something that every provider takes and `checkSchema` can read:
 * an object at the top, without a choice there, and no part that is not what JSON Schema says.
 */
export function repairSchema(value: unknown): JsonSchema {
  if (!isMapping(value)) return { type: "object" };
  const { anyOf, oneOf, allOf, not, ...rest } = repairPart(value, 0) as JsonObject;
  return { ...rest, type: "object" };
}

const MAX_DEPTH = 40;

function repairPart(value: unknown, depth: number): JsonObject {
  if (value === false) return { not: {} };
  if (!isMapping(value) || depth > MAX_DEPTH) return {};
  const repaired: Record<string, JsonValue> = {};
  for (const [key, each] of Object.entries(value)) {
    const kept = repairKeyword(key, each, depth + 1);
    if (kept !== undefined) repaired[key] = kept;
  }
  return typeof value["pattern"] === "string" ? { ...repaired, ...withPattern(repaired, value["pattern"]) } : repaired;
}

/** A foreign pattern is told, not run: one that takes for ever would hold up every agent. */
function withPattern({ description }: Record<string, JsonValue>, pattern: string): { description: string } {
  const before = typeof description === "string" && description !== "" ? `${description} ` : "";
  return { description: `${before}(Must match ${pattern})` };
}

/** Undefined: the keyword can't be meant as it stands, and is left out. */
function repairKeyword(key: string, value: unknown, depth: number): JsonValue | undefined {
  switch (key) {
    case "properties":
    case "patternProperties":
    case "$defs":
    case "definitions":
    case "dependentSchemas":
      if (!isMapping(value)) return undefined;
      return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, repairPart(part, depth)]));
    case "items":
      // A list here is how older drafts wrote `prefixItems`, and providers refuse the whole request for it.
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
