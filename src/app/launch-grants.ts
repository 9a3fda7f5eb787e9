import { parseRule } from "../permissions/index.ts";
import type { AgentDefinition } from "../protocol/index.ts";

/** What a person can allow an agent before it works in the background: what its `tools` list with a specifier, never a whole tool. */
export function launchGrants({ tools = [] }: Pick<AgentDefinition, "tools">): readonly string[] {
  return tools.filter((text) => {
    const rule = parseRule(text);
    if (!rule.ok || !["command", "path", "domain"].includes(rule.target.kind)) return false;
    return !/^[*:/.\s]*$/.test(text.slice(text.indexOf("(") + 1, -1));
  });
}
