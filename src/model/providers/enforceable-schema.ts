import type { JsonObject, JsonSchema, JsonValue } from "../../protocol/index.ts";

/**
 * Returns the part of a schema that every provider with structured outputs can enforce. Limits on values, such as
 * `minimum`, are left out, because some providers reject them; Retinue checks the answer against the whole schema
 * anyway. Returns undefined if a provider could not enforce the rest, or if that would exclude valid answers, as with
 * objects whose property names are not known in advance.
 */
export function enforceableSchema(schema: JsonSchema): JsonSchema | undefined {
  return schema["type"] === "object" && isEnforceable(schema) ? reduced(schema) : undefined;
}

/** Keywords that contain schemas or lists. All other keywords are copied or left out. */
const nested = new Set(["properties", "items", "anyOf", "oneOf"]);
const copied = new Set(["type", "description", "title", "enum", "const", "required"]);

/** Keywords without which a schema allows more values. */
const leftOut = new Set([
  ...["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "additionalProperties"],
]);

function isEnforceable(schema: JsonValue | undefined): boolean {
  if (!isObject(schema)) return false;
  if (Object.keys(schema).some((word) => !nested.has(word) && !copied.has(word) && !leftOut.has(word))) return false;
  const { type, properties, additionalProperties = false, items } = schema;
  if (type === "object" && (!isObject(properties) || additionalProperties !== false)) return false;
  if (type === "array" && items === undefined) return false;
  return partsOf(schema).every(isEnforceable);
}

function partsOf({ properties, items, anyOf, oneOf }: JsonObject): readonly (JsonValue | undefined)[] {
  const lists = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  return [
    ...(isObject(properties) ? Object.values(properties) : []),
    ...(items === undefined ? [] : [items]),
    ...lists,
  ];
}

function reduced(schema: JsonObject): JsonObject {
  const { properties, items, anyOf, oneOf } = schema;
  const entries = isObject(properties) && Object.entries(properties).map(([name, part]) => [name, reducedPart(part)]);
  const choices = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list.map(reducedPart) : []));
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => copied.has(keyword))),
    ...(entries ? { properties: Object.fromEntries(entries), additionalProperties: false } : {}),
    ...(items === undefined ? {} : { items: reducedPart(items) }),
    ...(choices.length > 0 ? { anyOf: choices } : {}),
  };
}

function reducedPart(part: JsonValue | undefined): JsonObject {
  return isObject(part) ? reduced(part) : {};
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
