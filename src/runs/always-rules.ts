import { accesses, alwaysPatterns, suggestRule } from "../permissions/index.ts";
import { canonicalToolName, type JsonObject, type ToolCall } from "../protocol/index.ts";

/** What "always" could mean for a call: first the rule for it alone, then one for more of its kind where that is no risk. */
export function alwaysRules(call: ToolCall): readonly string[] {
  const tool = canonicalToolName(call.name);
  const input = readInput(call.inputJson);
  const commands = accesses(tool, input).flatMap((access) => (access.kind === "command" ? [access.command] : []));
  const [command] = commands;
  if (command !== undefined) {
    const { exact, pattern } = alwaysPatterns(command);
    return [`Bash(${exact})`, ...(pattern === undefined ? [] : [`Bash(${pattern})`])];
  }
  const rule = suggestRule(tool, input);
  return rule === undefined ? [] : [rule];
}

function readInput(inputJson: string): JsonObject {
  try {
    const value: unknown = JSON.parse(inputJson);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}
