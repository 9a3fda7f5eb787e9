import type { CompactRule, Effect } from "../protocol/index.ts";

export interface CompactRules {
  readonly rules: readonly CompactRule[];
  /** What can't be read, each naming its key. */
  readonly problems: readonly string[];
}

/** Tool to action, or tool to glob to action. Written order is kept: the last match wins. */
export function compactRules(value: unknown): CompactRules {
  const rules: CompactRule[] = [];
  const problems: string[] = [];
  if (!isMapping(value)) return { rules, problems: ["it must be a mapping of tools to actions: { … }"] };
  for (const [tool, action] of Object.entries(value)) {
    if (tool === "$schema") continue;
    if (tool.trim() === "") problems.push("a tool has no name");
    else if (isEffect(action)) rules.push({ tool, effect: action });
    else if (!isMapping(action)) problems.push(`${JSON.stringify(tool)} ${expected}`);
    else {
      for (const [pattern, effect] of Object.entries(action)) {
        const name = `${JSON.stringify(pattern)} of ${JSON.stringify(tool)}`;
        if (pattern.trim() === "") problems.push(`a pattern of ${JSON.stringify(tool)} is empty`);
        else if (isEffect(effect)) rules.push({ tool, pattern, effect });
        else problems.push(`${name} must be "allow", "ask" or "deny"`);
      }
    }
  }
  return { rules, problems };
}

const expected = 'must be "allow", "ask" or "deny", or a mapping of patterns to these';

function isEffect(value: unknown): value is Effect {
  return value === "allow" || value === "ask" || value === "deny";
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
