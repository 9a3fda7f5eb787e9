import type { JsonObject, JsonSchema, JsonValue } from "../protocol/index.ts";
import { isMapping } from "./check-server-config.ts";
import { nameMembers } from "./tool-names.ts";

export interface SafeInput {
  readonly schema: JsonSchema;
  /** An input as the model wrote it, in the server's own words. */
  restore(input: JsonObject): JsonObject;
}

/** Gives the members of a tool's input names that every provider takes, and a way back. */
export function safeMembers(schema: JsonSchema): SafeInput {
  const { properties, required } = schema;
  if (!isMapping(properties)) return { schema, restore: (input) => input };
  const safe = nameMembers(Object.keys(properties));
  if ([...safe].every(([name, text]) => name === text)) return { schema, restore: (input) => input };
  const original = new Map([...safe].map(([name, text]) => [text, name]));
  const renamed = Object.entries(properties).map(([name, part]) => [safe.get(name) ?? name, part]);
  const needed = Array.isArray(required) ? (required as JsonValue[]).map((name) => safe.get(String(name)) ?? name) : [];
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(renamed) as JsonObject,
      ...(needed.length > 0 ? { required: needed } : {}),
    },
    restore: (input) =>
      Object.fromEntries(Object.entries(input).map(([name, value]) => [original.get(name) ?? name, value])),
  };
}
