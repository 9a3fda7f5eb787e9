import { isRecord, misspelledName } from "../lib/index.ts";
import type { JsonObject } from "../protocol/index.ts";

/**
 * Describes why a hook's plain text was probably meant to be a JSON object; undefined if it is ordinary text. A guard
 * whose decision can't be read must not be ignored.
 */
export function mistakenText(text: string): string | undefined {
  const isMeantAsJson = text.startsWith("{") || isList(text) || decisionKey.test(text);
  return isMeantAsJson ? "output that looks like JSON but is not one valid JSON object" : undefined;
}

const decisionKey = /"(?:decision|permissionDecision|hookSpecificOutput|behavior|continue|updatedInput)"\s*:/i;

/** A text in brackets is a list only if a JSON value follows, because `[INFO] checked` is an ordinary text. */
function isList(text: string): boolean {
  if (!text.startsWith("[")) return false;
  if (/^\[\s*["{[]/.test(text)) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Describes the first key or value in a hook's output that would be ignored although the hook meant it. */
export function mistakenValue(value: JsonObject): string | undefined {
  const { hookSpecificOutput: specific, continue: continues } = value;
  if (isGiven(specific) && !isRecord(specific)) return `${short(specific)} as hookSpecificOutput, not an object`;
  if (isGiven(continues) && typeof continues !== "boolean") return `${short(continues)} as continue, not true or false`;
  const parts: readonly [unknown, readonly string[]][] = [
    [value, outputKeys],
    [specific, specificKeys],
    [value["decision"], decisionKeys],
    [isRecord(specific) ? specific["decision"] : undefined, decisionKeys],
  ];
  for (const [part, known] of parts) {
    const unknown = isRecord(part) ? Object.keys(part).filter((key) => !known.includes(key)) : [];
    for (const key of unknown) {
      const meant = misspelledName(key, known);
      if (meant !== undefined) return `the unknown key "${key.slice(0, 100)}" instead of "${meant}"`;
      if (key === "behavior" || key === "continue") return `"${key}" in the wrong place`;
    }
  }
  return undefined;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function short(value: unknown): string {
  return (JSON.stringify(value) ?? "").slice(0, 100);
}

const sharedKeys = [
  "decision",
  "permissionDecision",
  "permissionDecisionReason",
  "reason",
  "additionalContext",
  "updatedInput",
  "updatedToolOutput",
  "updatedMCPToolOutput",
];
const outputKeys = [...sharedKeys, "continue", "stopReason", "suppressOutput", "systemMessage", "hookSpecificOutput"];
const specificKeys = [...sharedKeys, "hookEventName"];
const decisionKeys = ["behavior", "message", "updatedInput", "updatedPermissions", "interrupt"];
