import { nearest } from "../../lib/index.ts";
import { isKnownTool, toolNames } from "../../protocol/index.ts";
import type { AgentField } from "./field-names.ts";
import type { AgentFieldReader } from "./field-reader.ts";

/** Warns about entries such as `Baash` or `Baash(ls)`, which name no existing tool and therefore have no effect. */
export function warnOfUnknownTools(reader: AgentFieldReader, name: AgentField, entries: readonly string[]): void {
  const field = reader.get(name);
  if (field === undefined) return;
  const tools = new Set(entries.map((entry) => entry.replace(/\(.*$/s, "").trim()));
  for (const tool of tools) {
    if (isKnownTool(tool)) continue;
    const [guess] = nearest(tool, toolNames);
    reader.warn(field, {
      code: "unknown_tool",
      message: `"${field.key}" names "${tool.slice(0, 60)}", which is not a tool; the entry has no effect.`,
      tool,
      fix: guess === undefined ? "Remove it, or use the name of an existing tool." : `Did you mean "${guess}"?`,
    });
  }
}
