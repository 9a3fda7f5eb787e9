import { matchParts } from "../../lib/index.ts";
import { parseRule } from "../../permissions/index.ts";
import { accessNamed, canonicalToolName, ruledAccess } from "../../protocol/index.ts";

/** An entry in `tools` or `disallowedTools`. */
export interface ToolEntry {
  /** The entry as written. */
  readonly text: string;
  /** Canonical tool name, without the specifier. */
  readonly name: string;
  readonly hasSpecifier: boolean;
  covers(toolName: string): boolean;
  /**
   * Like `covers`, but for rules and withheld tools, where `Edit` and paths such as `Write(src/**)` stand for all tools
   * that write, and names can have wildcards.
   */
  isAbout(toolName: string): boolean;
}

export function readToolEntry(text: string): ToolEntry {
  const written = text.trim();
  const open = written.indexOf("(");
  const name = canonicalToolName(open === -1 ? written : written.slice(0, open).trim());
  const hasSpecifier = open !== -1;
  const covers = covering(name);
  const access = hasSpecifier && ruledAccess(name) === "write" ? "write" : accessNamed(name);
  const parts = name.split("*");
  const isAbout = (toolName: string) =>
    covers(toolName) ||
    (access !== undefined && ruledAccess(toolName) === access) ||
    (parts.length > 1 && matchParts(parts, toolName));
  return { text: written, name, hasSpecifier, covers, isAbout };
}

/**
 * Returns whether the specifier of an entry can be enforced. If not, it can't limit the tool, so the tool is not
 * granted.
 */
export function isEnforceable({ text, hasSpecifier }: ToolEntry): boolean {
  if (!hasSpecifier) return true;
  const parsed = parseRule(text);
  return parsed.ok && parsed.target.kind !== "unknown";
}

/**
 * Returns a predicate for the tool names that an entry covers. `mcp__server` and `mcp__server__*` cover all tools of a
 * server.
 */
function covering(name: string): (toolName: string) => boolean {
  if (name === "*") return () => true;
  if (!name.startsWith("mcp__")) return (toolName) => toolName === name;
  const server = name.endsWith("__*") ? name.slice(0, -3) : name;
  return (toolName) => toolName === name || toolName.startsWith(`${server}__`);
}
