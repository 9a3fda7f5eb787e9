import { accesses, alwaysPatterns, suggestRule } from "../../permissions/index.ts";
import { canonicalToolName, type JsonObject, type ToolCall } from "../../protocol/index.ts";
import { inputOf } from "../calls/decide-call.ts";

/**
 * What "always" could mean for a call that was decided about: first the rule for it alone, then one for more of its kind
 * where that is no risk.
 */
export function alwaysRules(call: ToolCall): readonly string[] {
  const tool = canonicalToolName(call.name);
  const input = inputOf(call) as JsonObject;
  const command = accesses(tool, input).find((access) => access.kind === "command")?.command;
  if (command !== undefined) {
    const { exact, pattern } = alwaysPatterns(command);
    return [`Bash(${exact})`, ...(pattern === undefined ? [] : [`Bash(${pattern})`])];
  }
  const rule = suggestRule(tool, input);
  return rule === undefined ? [] : [rule];
}
