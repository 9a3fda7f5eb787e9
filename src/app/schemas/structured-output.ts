import { describeError } from "../../lib/index.ts";
import type { JsonSchema } from "../../protocol/index.ts";
import type { OutputCheck } from "../../runs/index.ts";
import { readUserSchema } from "./read-user-schema.ts";
import type { Schema } from "./schema.ts";

/** Checks answers against a schema, and keeps the last valid value. */
export interface StructuredOutput extends OutputCheck {
  readonly value: unknown;
}

/** Reads the schema for an answer. `what` begins messages about it. Throws a `UserError` if it can't be used. */
export function createStructuredOutput(
  schema: Schema,
  json?: JsonSchema,
  what = "The output option",
): StructuredOutput {
  const read = readUserSchema({ schema, json, what, option: "outputSchema" });
  let value: unknown;
  return {
    instruction: `Your last message must contain only JSON that matches this JSON Schema, without any other text: ${JSON.stringify(read.json)}`,
    schema: read.json,
    async problemIn(text) {
      value = undefined;
      const parsed = parseAnswer(text);
      if (parsed === undefined) return "It is not JSON.";
      try {
        const valid = await read.validate(parsed.value);
        if (!valid.ok) return `It is not valid: ${valid.problems}.`;
        value = valid.value;
        return undefined;
      } catch (error) {
        return `It could not be validated: ${describeError(error).replace(/\.$/, "")}.`;
      }
    },
    get value() {
      return value;
    },
  };
}

/**
 * Finds the JSON in an answer: the whole answer, its last code block, or the text between its first and last brackets.
 */
function parseAnswer(text: string): { readonly value: unknown } | undefined {
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)];
  const start = text.search(/[[{]/);
  const end = Math.max(text.lastIndexOf("]"), text.lastIndexOf("}"));
  const candidates = [text, blocks.at(-1)?.[1], start >= 0 && end > start ? text.slice(start, end + 1) : undefined];
  for (const candidate of candidates) {
    try {
      if (candidate !== undefined) return { value: JSON.parse(candidate) };
    } catch {}
  }
  return undefined;
}
