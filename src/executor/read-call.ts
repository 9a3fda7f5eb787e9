import { checkSchema, coerceInput, describeProblems, nearest } from "../lib/index.ts";
import type { Tool } from "../ports/index.ts";
import { canonicalToolName, isAddress, type JsonObject, type JsonSchema, type ToolCall } from "../protocol/index.ts";

export type ReadCall =
  | {
      readonly ok: true;
      readonly tool: Tool;
      /** Input without properties that the tool does not support. */
      readonly input: JsonObject;
      /** Names of the properties that were removed. */
      readonly ignored: readonly string[];
      /** One line that tells the model which properties were ignored. */
      readonly remark?: string | undefined;
    }
  | { readonly ok: false; readonly message: string };

/** A built-in tool that the session does not have. */
export interface AbsentTool {
  readonly name: string;
  /** Tells the model and the user why the tool is missing, and what to do instead. */
  readonly reason: string;
}

interface CallContext {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly absent: readonly AbsentTool[];
  /** Names of all tools, including those of other executors. */
  readonly names: readonly string[];
  /** Tools of the calling agent. */
  readonly pool: readonly string[];
}

/**
 * Finds the tool and converts the input to match its schema, or returns a message that tells the model what to change.
 */
export function readCall(call: ToolCall, { tools, absent, names, pool }: CallContext): ReadCall {
  const name = canonicalToolName(call.name);
  const tool = tools.get(name);
  if (tool === undefined) {
    const reason = absent.find((each) => each.name === name)?.reason;
    return {
      ok: false,
      message:
        reason ??
        unknownTool(
          call.name,
          names.filter((each) => pool.includes(each)),
        ),
    };
  }
  const parsed = parseObject(call.inputJson);
  if (parsed === undefined) {
    return {
      ok: false,
      message: `The input for ${tool.declaration.name} must be a single JSON object. Make the call again with valid input.`,
    };
  }
  const schema = acceptedSchema(tool);
  const { input, ignored } = knownInput(schema, parsed);
  const isMisspelled =
    tool.refusesMisspelled && ignored.some((each) => guessFor(each, { schema, input }) !== undefined);
  if (!isMisspelled && checkSchema(schema, input).length === 0) {
    const misplaced = pathInputs.map((each) => input[each]).find(isAddress);
    return misplaced === undefined || !pathTools.has(name)
      ? { ok: true, tool, input, ignored, remark: remarkOn(ignored, { schema, input }) }
      : { ok: false, message: notForAddresses(name, misplaced) };
  }
  // A required property may be missing because its name is misspelled, so these problems include unknown properties.
  const all = checkSchema(schema, coerceInput(schema, parsed));
  return { ok: false, message: `${tool.declaration.name}: ${describeProblems(all)}` };
}

/** Tools that need a file or directory and don't accept an address. */
const pathTools: ReadonlySet<string> = new Set(["LS", "Glob", "Edit", "Write", "NotebookEdit"]);
const pathInputs = ["file_path", "path", "notebook_path"];

function notForAddresses(tool: string, address: string): string {
  return `${tool} works on files and can't open the address ${JSON.stringify(address.slice(0, 100))}. Use Read or Grep.`;
}

/**
 * Returns the schema of valid inputs. Unknown properties are forbidden unless the schema says otherwise. Declarations
 * omit this restriction to save bytes in every request.
 */
function acceptedSchema({ declaration: { inputSchema }, accepts = inputSchema }: Tool): JsonSchema {
  return { additionalProperties: false, ...accepts };
}

/**
 * Removes properties that the schema forbids, before the call is judged, and converts the others to the types in the
 * schema.
 */
function knownInput(schema: JsonSchema, parsed: object): { input: JsonObject; ignored: readonly string[] } {
  const isClosed = schema["additionalProperties"] === false;
  const ignored = isClosed ? Object.keys(parsed).filter((name) => !Object.hasOwn(propertiesOf(schema), name)) : [];
  const known =
    ignored.length === 0
      ? parsed
      : Object.fromEntries(Object.entries(parsed).filter(([name]) => !ignored.includes(name)));
  return { input: coerceInput(schema, known) as JsonObject, ignored };
}

function propertiesOf(schema: JsonSchema): object {
  return (schema["properties"] as object | undefined) ?? {};
}

const mostNamed = 6;

function remarkOn(ignored: readonly string[], { schema, input }: Given): string | undefined {
  if (ignored.length === 0) return undefined;
  const named = ignored.slice(0, mostNamed).map((name) => {
    const guess = guessFor(name, { schema, input });
    const quoted = JSON.stringify(name.slice(0, 100));
    return guess === undefined ? quoted : `${quoted} (did you mean ${JSON.stringify(guess)}?)`;
  });
  const more = ignored.length > mostNamed ? ` and ${ignored.length - mostNamed} more` : "";
  return `[Ignored unknown input${ignored.length === 1 ? "" : "s"}: ${named.join(", ")}${more}.]`;
}

interface Given {
  readonly schema: JsonSchema;
  readonly input: JsonObject;
}

/** Returns the known property that an unknown one resembles most, among those missing from the input. */
function guessFor(name: string, { schema, input }: Given): string | undefined {
  const free = Object.keys(propertiesOf(schema)).filter((each) => !Object.hasOwn(input, each));
  return nearest(name, free)[0];
}

function parseObject(text: string): object | undefined {
  try {
    // Some models send an empty string if a tool needs no input.
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function unknownTool(name: string, known: readonly string[]): string {
  const near = nearest(name, known, 3);
  const hint = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `The tools are: ${known.join(", ")}.`;
  return `There is no tool named ${JSON.stringify(name.slice(0, 100))}. ${hint}`;
}
