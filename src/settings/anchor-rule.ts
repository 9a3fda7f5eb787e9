import { canonicalToolName, type Effect } from "../protocol/index.ts";

export interface Anchor {
  readonly effect: Effect;
  /** Absolute: where the file with the rule stands. */
  readonly directory: string;
}

/**
 * A rule from a directory above the workspace, in words that mean the same in the workspace: a relative path gets the
 * directory before it.
 */
export function anchorRule(text: string, { effect, directory }: Anchor): string {
  const [, tool = "", pattern = ""] = /^\s*([^()]+?)\s*\((.*)\)\s*$/s.exec(text) ?? [];
  if (!pathTools.has(canonicalToolName(tool)) || /^(?:\/\/|~|!)/.test(pattern.trim())) return text;
  const isAnchored = /^(?:\/|\.\.?\/)/.test(pattern);
  const names = pattern.split("/").filter((name) => name !== "");
  if (names.length === 0) return text;
  const rest = pattern.endsWith("/") ? [...names, "**"] : names;
  const isWide = effect !== "allow" && rest.length === 2 && rest[1] === "**";
  const anyDepth = !isAnchored && (rest.length === 1 || isWide) ? ["**"] : [];
  return `${tool}(/${[escaped(directory), ...anyDepth, ...rest].join("/")})`;
}

const pathTools: ReadonlySet<string> = new Set(["Read", "Edit", "Write", "NotebookEdit", "Grep", "Glob", "LS"]);

function escaped(directory: string): string {
  return directory.replace(/[*?[\\]/g, "\\$&").replace(/\/$/, "");
}
