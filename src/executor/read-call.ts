import { checkSchema, coerceInput, describeProblems, nearest } from "../lib/index.ts";
import type { Tool } from "../ports/index.ts";
import { canonicalToolName, type JsonObject, type JsonSchema, type ToolCall } from "../protocol/index.ts";

export type ReadCall =
  | { readonly ok: true; readonly tool: Tool; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string };

interface CallContext {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Tools of the calling agent. */
  readonly pool: readonly string[];
}

/** Finds the tool and an input that fits its schema, or returns a message that tells the model what to change. */
export function readCall(call: ToolCall, { tools, pool }: CallContext): ReadCall {
  const tool = tools.get(canonicalToolName(call.name));
  if (tool === undefined) return { ok: false, message: unknownTool(call.name, namesFor(pool, tools)) };
  const parsed = parseObject(call.inputJson);
  if (parsed === undefined) {
    return {
      ok: false,
      message: `The input of ${tool.declaration.name} must be one JSON object. Write the call again.`,
    };
  }
  const schema = closed(tool);
  const fits = checkSchema(schema, parsed).length === 0;
  const input = (fits ? parsed : coerceInput(schema, parsed)) as JsonObject;
  const problems = fits ? [] : checkSchema(schema, input);
  if (problems.length > 0) return { ok: false, message: `${tool.declaration.name}: ${describeProblems(problems)}` };
  return { ok: true, tool, input };
}

/** Forbids unknown inputs of built-in tools. The declarations do not say so, to save bytes in every request. */
function closed({ declaration: { name, inputSchema }, accepts = inputSchema }: Tool): JsonSchema {
  return name.startsWith("mcp__") ? accepts : { additionalProperties: false, ...accepts };
}

function parseObject(text: string): object | undefined {
  try {
    // Some models send an empty text if a tool needs no input.
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function namesFor(pool: readonly string[], tools: ReadonlyMap<string, Tool>): readonly string[] {
  return [...tools.keys()].filter((name) => pool.includes(name));
}

function unknownTool(name: string, known: readonly string[]): string {
  const near = nearest(name, known, 3);
  const hint = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `The tools are: ${known.join(", ")}.`;
  return `There is no tool named ${JSON.stringify(name.slice(0, 100))}. ${hint}`;
}
