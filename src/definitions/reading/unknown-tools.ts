import { misspelledName, nearest } from "../../lib/index.ts";
import { isKnownTool, toolNames } from "../../protocol/index.ts";
import type { AgentField } from "./field-names.ts";
import type { AgentFieldReader } from "./field-reader.ts";

interface ToolEntries {
  /** Entries that give the agent a tool. */
  readonly granted?: readonly string[] | undefined;
  /** Entries that withhold a tool or some of its calls. */
  readonly withheld?: readonly string[] | undefined;
}

/**
 * Reports entries such as `Baash` or `Baash(ls)`, which name no existing tool and therefore have no effect. If such an
 * entry is meant to withhold a tool, the agent is not loaded, unless a program defines it: the name may be one of the
 * program's own tools.
 */
export function checkToolNames(reader: AgentFieldReader, name: AgentField, entries: ToolEntries): void {
  const { granted = [], withheld = [] } = entries;
  const field = reader.get(name);
  if (field === undefined) return;
  const refusable = reader.definedInCode ? new Set<string>() : namesIn(withheld);
  for (const tool of namesIn([...granted, ...withheld])) {
    if (isKnownTool(tool)) continue;
    const meant = refusable.has(tool) ? misspelledName(tool, toolNames) : undefined;
    if (meant !== undefined) {
      reader.refuse(field, {
        code: "misspelled_tool",
        message: `"${field.key}" names "${tool.slice(0, 60)}", which is not a tool. The agent is not loaded, so that it can't run with more rights than intended.`,
        fix: `Did you mean "${meant}"?`,
      });
      continue;
    }
    const [guess] = nearest(tool, toolNames);
    reader.warn(field, {
      code: "unknown_tool",
      message: `"${field.key}" names "${tool.slice(0, 60)}", which is not a tool; the entry has no effect.`,
      tool,
      fix: guess === undefined ? "Remove it, or use the name of an existing tool." : `Did you mean "${guess}"?`,
    });
  }
}

/** Returns the tools that entries name, without specifiers. */
function namesIn(entries: readonly string[]): ReadonlySet<string> {
  return new Set(entries.map((entry) => entry.replace(/\(.*$/s, "").trim()));
}
