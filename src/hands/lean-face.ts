import type { ToolFace } from "../ports/index.ts";
import type { JsonSchema } from "../protocol/index.ts";

/**
 * A tool as a model is shown it, without the bounds of numbers and texts and what it is not told of: who goes beyond
 * them is told so by the check of the call.
 */
export function leanFace({ declaration, untold = [], ...face }: ToolFace): ToolFace {
  const { inputSchema } = declaration;
  const properties = (inputSchema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const told = Object.entries(properties).filter(([each]) => !untold.includes(each));
  const lean = Object.fromEntries(told.map(([each, schema]) => [each, withoutBounds(schema)]));
  return { ...face, declaration: { ...declaration, inputSchema: { ...inputSchema, properties: lean } } };
}

function withoutBounds({ minimum: _least, maximum: _most, minLength: _shortest, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
