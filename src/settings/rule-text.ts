/** `{"tool": "Task", "args": "Explore"}` is the rule `Task(Explore)`; everything else stays for the check to judge. */
export function ruleText(entry: unknown): unknown {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return entry;
  const { tool, args, ...rest } = entry as Record<string, unknown>;
  if (typeof tool !== "string" || tool === "" || Object.keys(rest).length > 0) return entry;
  if (args === undefined || args === "") return tool;
  return typeof args === "string" ? `${tool}(${args})` : entry;
}
