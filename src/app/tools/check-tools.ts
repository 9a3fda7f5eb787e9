import { isRecord } from "../../lib/index.ts";
import { canonicalToolName, toolNames } from "../../protocol/index.ts";
import {
  aBoolean,
  aFunction,
  anObject,
  aString,
  checkNames,
  checkOptions,
  type OptionType,
  type OptionTypes,
  optional,
  optionError,
} from "../check-options.ts";
import { readUserSchema } from "../schemas/read-user-schema.ts";
import { isSchema } from "../schemas/schema.ts";
import { type AgentTool, type CustomTool, isToolAccess } from "./tool-types.ts";

/** Throws a `UserError` if a tool that the program defines can't be used. */
export function checkTools(tools: readonly (CustomTool | AgentTool)[]): void {
  const names = new Set<string>();
  for (const tool of tools) {
    if (typeof tool === "string")
      throw optionError(
        `The tools option of openSession contains the name ${JSON.stringify(tool)}`,
        "It is for tools that you define. Agents have all built-in tools; remove some with disallowedTools, or give the main agent a definition with a list of tools (agents and agent).",
      );
    checkTool(tool);
    if (names.has(tool.name))
      throw optionError(`The \`tools\` option has two tools named "${tool.name}"`, "Rename one of them.");
    names.add(tool.name);
  }
}

/** Throws a `UserError` if a tool that the program defines can't be used. `by` describes a tool that has no name. */
export function checkTool(tool: CustomTool | AgentTool, by = "a tool in tools"): void {
  const name = isRecord(tool) && typeof tool["name"] === "string" ? `the tool "${tool["name"]}"` : by;
  checkNames(name, tool, otherNames);
  if (by === "agentTool" || (isRecord(tool) && "agent" in tool)) checkOptions(name, tool as AgentTool, agentToolTypes);
  else checkOptions(name, tool as CustomTool, types);
  checkName(tool.name);
  if (!("agent" in tool)) checkSchemas(tool);
}

/** Names that other libraries use for tool options. */
const otherNames = {
  execute: "Use run.",
  handler: "Use run.",
  invoke: "Use run.",
  parameters: "Use input.",
  schema: "Use input.",
  inputs: "Use input.",
  outputSchema: "Use output.",
  needsApproval: 'Leave out access, or let it return "unknown" for calls that need approval.',
};

const anInput: OptionType = {
  accepts: isSchema,
  description: "a schema from a library, or a JSON Schema (inputSchema is only for an input that can't be converted)",
};

const aSchema: OptionType = { accepts: isSchema, description: "a schema from a library, or a JSON Schema" };

const anAccess: OptionType = {
  accepts: (value) => typeof value === "function" || isToolAccess(value),
  description: '"none", "unknown", an object with read, write or network, or a function that returns one of them',
};

const someText: OptionType = {
  accepts: (value) => typeof value === "string" && value.trim() !== "",
  description: "text that tells the model what the tool does and when to use it",
};

const types: OptionTypes<CustomTool> = {
  name: aString,
  description: someText,
  input: anInput,
  inputSchema: optional(anObject),
  output: optional(aSchema),
  access: optional(anAccess),
  parallel: optional(aBoolean),
  timeoutSeconds: optional({
    accepts: (value) => typeof value === "number" && value > 0,
    description: "a number of seconds above 0",
  }),
  run: aFunction,
};

const agentToolTypes: OptionTypes<AgentTool> = { name: aString, description: someText, agent: aString };

function checkName(name: string): void {
  const refuse = (why: string): never => {
    throw optionError(`A tool can't be named ${JSON.stringify(name.slice(0, 80))}: ${why}`, "Choose another name.");
  };
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) refuse("a name consists of 1 to 64 letters, digits, _ or -");
  if (name.startsWith("mcp__")) refuse("names that begin with mcp__ are reserved for MCP tools");
  const meant = canonicalToolName(name);
  if (name === meant && toolNames.includes(name)) refuse("this is the name of a built-in tool");
  if (name !== meant) refuse(`this is another name for the built-in tool ${meant}`);
}

function checkSchemas({ name, input, inputSchema, output }: CustomTool): void {
  const what = `The input of the tool "${name}"`;
  const { json } = readUserSchema({ schema: input, json: inputSchema, what, option: "inputSchema" });
  if (json["type"] !== "object")
    throw optionError(`${what} must describe an object`, 'Use z.object({ … }), or a JSON Schema with type: "object".');
  // The model does not see the schema of the result, so it need not be convertible.
  if (output !== undefined)
    readUserSchema({ schema: output, json: {}, what: `The output of the tool "${name}"`, option: "output" });
}
