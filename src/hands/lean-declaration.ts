import type { ToolFace } from "../ports/index.ts";
import type { JsonSchema, ToolDeclaration } from "../protocol/index.ts";

/**
 * A tool as a model is shown it, without the bounds of its own numbers and texts: who goes beyond them is told so by
 * the check of the call. Tools of others stay as they are.
 */
export function leanDeclaration({ declaration, untold = [] }: ToolFace): ToolDeclaration {
  const { name, inputSchema } = declaration;
  const properties = inputSchema["properties"] as Readonly<Record<string, JsonSchema>> | undefined;
  if (name.startsWith("mcp__") || properties === undefined) return declaration;
  const told = Object.entries(properties).filter(([each]) => !untold.includes(each));
  const lean = Object.fromEntries(told.map(([each, schema]) => [each, withoutBounds(schema)]));
  return { ...declaration, inputSchema: { ...inputSchema, properties: lean } };
}

function withoutBounds({ minimum: _least, maximum: _most, minLength: _shortest, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
