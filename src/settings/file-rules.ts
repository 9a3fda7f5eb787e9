import { isRecord } from "../lib/index.ts";
import {
  type CompactRule,
  canonicalToolName,
  type Effect,
  isFilePattern,
  isWholePattern,
  type Rule,
  ruledAccess,
  type ScopedCompactRule,
  textsOfLine,
} from "../protocol/index.ts";
import type { SettingsFile } from "./settings-files.ts";

/** A settings file with its content. */
export interface SettingsText extends SettingsFile {
  readonly text: string;
}

/** Returns the rules in the `permissions` of checked settings. */
export function rulesOf({ permissions }: Record<string, unknown>, { scope, path: file, text }: SettingsText): Rule[] {
  if (!isRecord(permissions)) return [];
  return (["allow", "ask", "deny"] as const).flatMap((effect: Effect) =>
    ((permissions[effect] ?? []) as readonly string[]).map((rule) => {
      const line = lineOf(text, ["permissions", effect, rule]);
      return { text: rule, effect, scope, file, line };
    }),
  );
}

/**
 * Returns the line of the last element of `path` that the text contains. An element is a key or a string. It is searched
 * for in the value of the previous element, or else after it: the key and value of an object's property are enough to
 * find the object in a list. Of several equal keys in an object, the last is found, because its value is used.
 */
export function lineOf(text: string, path: readonly string[]): number {
  const all = stringsIn(text);
  let found: JsonString | undefined;
  let limit = text.length;
  for (const element of path) {
    const raw = JSON.stringify(element);
    const { start = -1, end = limit }: Partial<JsonString> = found ?? {};
    const later = all.filter((each) => each.raw === raw && each.start > start && each.start < limit);
    const inside = later.filter((each) => each.start < end);
    const equal = inside.length > 0 ? inside : later;
    const keys = equal.filter(({ isKey }) => isKey);
    const outermost = Math.min(...keys.map(({ parents }) => parents.length));
    const first = keys.find(({ parents }) => parents.length === outermost);
    const next = keys.findLast(({ parents }) => parents === first?.parents) ?? equal[0];
    if (next === undefined) continue;
    if (found !== undefined && inside.length > 0) limit = end;
    found = next;
  }
  return text.slice(0, found?.start ?? 0).split("\n").length;
}

/** A string in the text of a JSON file, which can have comments. */
interface JsonString {
  readonly raw: string;
  readonly start: number;
  /** Positions of the objects and lists that contain the string. Strings in the same object share one array. */
  readonly parents: readonly number[];
  isKey: boolean;
  /** End of the value, if the string is a key. */
  end: number;
}

function stringsIn(text: string): readonly JsonString[] {
  const strings: JsonString[] = [];
  const open: JsonString[] = [];
  const containers: (readonly number[])[] = [[]];
  const endValues = (depth: number, end: number): void => {
    while ((open.at(-1)?.parents.length ?? -1) >= depth) (open.pop() as JsonString).end = end;
  };
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"?|\/\/.*|\/\*[\s\S]*?(?:\*\/|$)|[{}[\]:]/g)) {
    const parents = containers.at(-1) ?? [];
    const last = strings.at(-1);
    if (token.startsWith('"')) strings.push({ raw: token, parents, start: index, end: index, isKey: false });
    else if (token === ":" && last !== undefined) {
      endValues(parents.length, last.start);
      last.isKey = true;
      last.end = text.length;
      open.push(last);
    } else if (token === "{" || token === "[") containers.push([...parents, index]);
    else if (token === "}" || token === "]") {
      endValues(parents.length, index);
      containers.pop();
    }
  }
  return strings;
}

/** Applies a change to every entry in the rule lists in `permissions`. */
export function mapRules(
  value: Record<string, unknown>,
  change: (entry: unknown, effect: Effect) => unknown,
): Record<string, unknown> {
  const { permissions } = value;
  if (!isRecord(permissions)) return { ...value };
  const lists = Object.entries(permissions).map(([key, list]): [string, unknown] => [
    key,
    Array.isArray(list) && isEffect(key) ? list.map((entry) => change(entry, key)) : list,
  ]);
  return { ...value, permissions: Object.fromEntries(lists) };
}

/**
 * Turns `{"tool": "Task", "args": "Explore"}` into the rule `Task(Explore)`. Other values are returned unchanged, to be
 * checked later.
 */
export function ruleText(entry: unknown): unknown {
  if (!isRecord(entry)) return entry;
  const { tool, args, ...rest } = entry;
  if (typeof tool !== "string" || tool === "" || Object.keys(rest).length > 0) return entry;
  if (args === undefined || args === "") return tool;
  return typeof args === "string" ? `${tool}(${args})` : entry;
}

export interface CompactRules {
  readonly rules: readonly CompactRule[];
  /** Messages about invalid entries, with the keys that lead to each entry. */
  readonly problems: readonly { readonly message: string; readonly keys: readonly string[] }[];
}

/**
 * Reads a mapping from tools to actions, or from tools to globs to actions. Keeps the order, because the last match
 * wins.
 */
export function compactRules(value: unknown): CompactRules {
  const rules: CompactRule[] = [];
  const problems: CompactRules["problems"][number][] = [];
  const report = (message: string, ...keys: readonly string[]): void => void problems.push({ message, keys });
  if (!isRecord(value)) {
    report("it must be a mapping from tools to actions: { … }");
    return { rules, problems };
  }
  for (const [tool, action] of Object.entries(value)) {
    const key = JSON.stringify(tool);
    if (tool === "$schema") continue;
    if (tool.trim() === "") report("a tool has no name", tool);
    else if (isFilePattern(tool))
      report(`${key} is a pattern for files, not a tool. Write "read": {${key}: …} and "edit": {${key}: …}`, tool);
    else if (isEffect(action)) rules.push({ tool, effect: action });
    else if (!isRecord(action)) report(`${key} ${expected}`, tool);
    else {
      for (const [pattern, effect] of Object.entries(action)) {
        const name = `${JSON.stringify(pattern)} of ${key}`;
        if (pattern.trim() === "") report(`a pattern for ${key} is empty`, tool, pattern);
        else if (isEffect(effect)) rules.push({ tool, pattern, effect });
        else report(`${name} must be "allow", "ask" or "deny"`, tool, pattern);
      }
    }
  }
  return { rules, problems };
}

const expected = 'must be "allow", "ask" or "deny", or a mapping from patterns to these';

/** Converts a line in a compact file to rules. */
export function ruleOfLine({ tool, pattern, effect, scope, file }: ScopedCompactRule): readonly Rule[] {
  const isWhole = isWholePattern(pattern);
  // This line makes every tool available, which needs no rule.
  if (tool === "*" && isWhole && effect === "allow") return [];
  // A pattern for all tools is a path, so it applies to reading and writing files.
  const names = tool === "*" && !isWhole ? ["Read", "Edit"] : [tool];
  const texts = names.flatMap((name) => textsOfLine(name, pattern));
  return texts.map((text) => ({ text, effect, scope, file, form: "compact" }));
}

export interface Anchor {
  readonly effect: Effect;
  /** Absolute path of the directory that the rule is relative to. */
  readonly directory: string;
}

/**
 * Rewrites a rule from a directory above the workspace for use in the workspace, by making a relative path absolute.
 */
export function anchorRule(text: string, { effect, directory }: Anchor): string {
  const [, tool = "", pattern = ""] = /^([^()]+)\((.*)\)$/s.exec(text.trim()) ?? [];
  const access = ruledAccess(canonicalToolName(tool.trim()));
  if ((access !== "read" && access !== "write") || /^(?:\/\/|~|!)/.test(pattern.trim())) return text;
  const isAnchored = /^(?:\/|\.\.?\/)/.test(pattern);
  const names = pattern.split("/").filter((name) => name !== "");
  if (names.length === 0) return text;
  const rest = pattern.endsWith("/") ? [...names, "**"] : names;
  const isWide = effect !== "allow" && rest.length === 2 && rest[1] === "**";
  const anyDepth = !isAnchored && (rest.length === 1 || isWide) ? ["**"] : [];
  return `${tool.trim()}(/${[escaped(directory), ...anyDepth, ...rest].join("/")})`;
}

function escaped(directory: string): string {
  return directory.replace(/[*?[\\]/g, "\\$&").replace(/\/$/, "");
}

function isEffect(value: unknown): value is Effect {
  return value === "allow" || value === "ask" || value === "deny";
}
