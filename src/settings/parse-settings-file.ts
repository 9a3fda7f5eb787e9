import { relative } from "node:path";
import { isRecord, misspelledName, nearest, parseJsonc } from "../lib/index.ts";
import {
  type Approval,
  type Effect,
  type HookProblem,
  isKnownTool,
  type Rule,
  readHookEntries,
  type ScopedCompactRule,
  toolNames,
} from "../protocol/index.ts";
import { checkSettings, type UnknownKey } from "./check-settings.ts";
import {
  anchorRule,
  compactRules,
  lineOf,
  mapRules,
  ruleOfLine,
  rulesOf,
  ruleText,
  type SettingsText,
} from "./file-rules.ts";
import { hashApproval, limitProject, type ProjectTrust } from "./limit-project.ts";
import type { SettingsLayer } from "./merge-settings.ts";
import type { SettingsFile } from "./settings-files.ts";

/**
 * Content of one settings file. A file with a problem has no content, and the caller must not continue as if the file
 * did not exist.
 */
export interface ParsedFile {
  readonly layer?: SettingsLayer | undefined;
  readonly rules: readonly Rule[];
  readonly compact: readonly ScopedCompactRule[];
  readonly notices: readonly string[];
  readonly problems: readonly string[];
  /** Keys that are ignored because the project is not trusted. */
  readonly off: readonly string[];
  readonly approvals: readonly Approval[];
}

export function parseSettingsFile(text: string, file: SettingsFile, trust: ProjectTrust): ParsedFile {
  const { path } = file;
  if (text.replace(/^\ufeff/, "").trim() === "") return { ...nothing, notices: [`${path} is empty; using defaults.`] };
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, column, message } = parsed.error;
    const fix = "Fix the file, or rename it to run without it.";
    return broken(`${path}:${line}:${column}: ${message}. ${fix}`);
  }
  const warnings = parsed.warnings.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}.`);
  const parse = file.kind === "compact" ? parseCompact : parseLayer;
  const found = parse(parsed.value, { ...file, text }, trust);
  return { ...found, notices: [...warnings, ...found.notices] };
}

const nothing: ParsedFile = { rules: [], compact: [], notices: [], problems: [], off: [], approvals: [] };

function broken(...problems: readonly string[]): ParsedFile {
  return { ...nothing, problems };
}

function parseLayer(value: unknown, file: SettingsText, trust: ProjectTrust): ParsedFile {
  const { path, scope, text } = file;
  if (!isRecord(value))
    return broken(`${path}:1: settings must be an object. Write { "model": "…" }, or delete the file.`);
  const readable = mapRules(value, ruleText);
  const limited =
    file.inside === undefined
      ? { ...noLimits, values: readable }
      : limitProject(readable, { ...trust, name: nameOf(file) });
  const foreign: string[] = [];
  // Rewrite paths only after limiting, because approvals are for the rules as written in the file.
  const anchored = withAnchors(limited.values, file);
  const values = file.kind === "claude" ? translateClaude(anchored, foreign) : anchored;
  const { wrong, unknown } = checkSettings(values);
  // Invalid values are tolerated in another program's file, as long as they contain no rules.
  const isRule = (key = ""): boolean => key === "permissions" || key === "hooks";
  const harmless = file.kind === "claude" ? wrong.filter((each) => !isRule(each.path[0])) : [];
  const problems = wrong
    .filter((each) => !harmless.includes(each))
    .map(({ path: keys, message }) => {
      const what = message.endsWith("?") ? message : `${message}. Correct the value, or remove the key.`;
      return `${path}:${lineOf(text, keys)}: ${what}`;
    });
  if (problems.length > 0) return { ...broken(...problems), notices: unknownNotices(unknown, file) };
  for (const each of harmless) delete values[each.path[0] ?? ""];
  const notices = [
    ...foreign.map((what) => `${path}: ${what}`),
    ...harmless.map(({ message }) => `${path}: ${message}; it has no effect.`),
    ...unknownNotices(unknown, file),
    ...(limited.refused.length > 0 ? [`${path}: ignoring ${someOf(limited.refused)}, which a project can't set.`] : []),
    ...(limited.changed.length > 0
      ? [
          `${path}: ignoring ${limited.changed.join(", ")}, which changed since you trusted this project. ${fixOf(file)}`,
        ]
      : []),
    ...(limited.unapproved.length > 0
      ? [`${path}: ignoring ${limited.unapproved.join(", ")}, which you have not approved yet. ${fixOf(file)}`]
      : []),
    ...hookNotices(values["hooks"], file),
    ...blockedToolNotices(values["subagents"], file),
  ];
  const { off, approvals } = limited;
  return {
    ...nothing,
    layer: { scope, file: path, text, values },
    rules: rulesOf(values, file),
    notices,
    off: off.length > 0 ? [`${shownName(file)}: ${someOf(off)}`] : [],
    approvals,
  };
}

/** Reports hooks that never run and keys that have no effect, with their line. */
function hookNotices(hooks: unknown, { path, kind, text }: SettingsText): string[] {
  if (hooks === undefined) return [];
  return readHookEntries(hooks).problems.flatMap(({ event, message, unknown }) => {
    const meant = unknown && misspelledName(unknown.name, unknown.valid);
    const isEvent = unknown?.name === event;
    // Another program's hooks may have keys that only that program understands.
    if (kind === "claude" && unknown !== undefined && !isEvent && meant === undefined) return [];
    const line = lineOf(text, ["hooks", ...[event, unknown?.name].filter((key) => key !== undefined)]);
    return [`${path}:${line}: ${message} ${hookAdvice(unknown, meant)}`];
  });
}

function hookAdvice(unknown: HookProblem["unknown"], meant: string | undefined): string {
  if (unknown === undefined) return 'Write { "matcher": "Bash", "hooks": [{ "type": "command", "command": "…" }] }.';
  return meant === undefined ? `Use ${unknown.valid.join(", ")}.` : `Did you mean "${meant}"?`;
}

/** Reports names in `subagents.blockedTools` that do not belong to any tool. */
function blockedToolNotices(subagents: unknown, { path, text }: SettingsText): string[] {
  const names = isRecord(subagents) ? ((subagents["blockedTools"] ?? []) as readonly string[]) : [];
  return names.flatMap((name) => {
    if (isKnownTool(name)) return [];
    const [guess] = nearest(name, toolNames);
    const hint = guess === undefined ? "" : ` Did you mean "${guess}"?`;
    const line = lineOf(text, ["subagents", "blockedTools", name]);
    return [`${path}:${line}: subagents.blockedTools: unknown tool "${name}"; it has no effect.${hint}`];
  });
}

const noLimits = { off: [], changed: [], unapproved: [], refused: [], approvals: [] } as const;

function fixOf({ above }: SettingsFile): string {
  return `Review it, then run "retinue trust add${above === undefined ? "" : ` ${above.path}`}".`;
}

function parseCompact(value: unknown, file: SettingsText, trust: ProjectTrust): ParsedFile {
  const { path, scope } = file;
  const { rules, problems } = compactRules(value);
  if (problems.length > 0) {
    const placeOf = (keys: readonly string[]): string =>
      keys.length === 0 ? path : `${path}:${lineOf(file.text, keys)}`;
    return broken(...problems.map(({ message, keys }) => `${placeOf(keys)}: ${message}.`));
  }
  const compact = rules.map((rule) => ({ ...rule, scope, file: path }));
  if (file.inside === undefined || rules.every(({ effect }) => effect !== "allow")) return withLists(compact, file);
  const strict = compact.filter(({ effect }) => effect !== "allow");
  const name = nameOf(file);
  if (!trust.trusted) return { ...withLists(strict, file), off: [`${shownName(file)}: allow`] };
  // The order of lines matters, so it is part of the approval.
  const approvals = [{ kind: "permissions", name, hash: hashApproval(rules) }];
  const isApproved = trust.approvedHash === undefined || trust.approvedHash("permissions", name) === approvals[0]?.hash;
  if (isApproved) return { ...withLists(compact, file), approvals };
  const isNew = trust.approvedHash?.("permissions", name) === undefined;
  const why = isNew ? "you have not approved yet" : "changed since you trusted this project";
  const notices = [`${path}: ignoring its allow rules, which ${why}. ${fixOf(file)}`];
  return { ...withLists(strict, file), notices, approvals };
}

/**
 * Also adds the rules of a `permissions.jsonc` file to the settings as lists. Lists are stricter, because deny rules in
 * them win regardless of their order.
 */
function withLists(compact: readonly ScopedCompactRule[], file: SettingsText): ParsedFile {
  const directory = file.above?.path;
  const rules = compact.flatMap((each) => {
    const line = lineOf(file.text, [each.tool, each.pattern ?? each.tool]);
    return ruleOfLine(each).map((rule): Rule => {
      const { effect } = rule;
      const text = directory === undefined ? rule.text : anchorRule(rule.text, { effect, directory });
      return { ...rule, text, line };
    });
  });
  const listed = (effect: Effect): readonly string[] =>
    rules.flatMap((rule) => (rule.effect === effect ? [rule.text] : []));
  const permissions = { allow: listed("allow"), ask: listed("ask"), deny: listed("deny") };
  return { ...nothing, compact, rules, layer: { scope: file.scope, file: file.path, values: { permissions } } };
}

/** Returns the name under which a file is listed in approvals, which does not depend on the working directory. */
function nameOf({ path, inside }: SettingsFile): string {
  return inside === undefined ? path : relative(inside, path);
}

function shownName({ path, shown = path }: SettingsFile): string {
  return shown;
}

/** Makes relative paths in a file above the workspace absolute, because they are relative to that file. */
function withAnchors(value: Record<string, unknown>, { above }: SettingsFile): Record<string, unknown> {
  if (above === undefined) return value;
  const { path: directory } = above;
  return mapRules(value, (entry, effect) =>
    typeof entry === "string" ? anchorRule(entry, { effect, directory }) : entry,
  );
}

/** Translates Claude Code's values. Unknown modes and models fall back to the default, never to a looser value. */
function translateClaude(values: Record<string, unknown>, notices: string[]): Record<string, unknown> {
  const mine = { ...values };
  const { model, permissions } = mine;
  if (model === "default") delete mine["model"];
  if (model === "opusplan") mine["model"] = "opus";
  if (isRecord(permissions) && typeof permissions["defaultMode"] === "string") {
    const { defaultMode, ...rest } = permissions;
    if (checkSettings({ permissions: { defaultMode } }).wrong.length > 0) {
      notices.push(`unknown permission mode ${JSON.stringify(defaultMode)}; the default applies.`);
      mine["permissions"] = rest;
    }
  }
  return mine;
}

/** Reports likely typos one by one, and all other unknown keys together. */
function unknownNotices(unknown: readonly UnknownKey[], { path: file, kind, text }: SettingsText): string[] {
  const typos = unknown.flatMap(({ path, meant }) => {
    if (meant === undefined) return [];
    return [`${file}:${lineOf(text, path)}: unknown key "${path.join(".")}" has no effect. Did you mean "${meant}"?`];
  });
  // Another program's files have sections that only that program understands.
  const others = unknown.filter(({ path, meant }) => meant === undefined && (kind !== "claude" || path.length === 1));
  const [first, ...more] = others.map(({ path }) => ({ key: `"${path.join(".")}"`, line: lineOf(text, path) }));
  if (first === undefined) return typos;
  if (more.length === 0) return [...typos, `${file}:${first.line}: unknown key ${first.key} has no effect.`];
  const keys = someOf([first, ...more].map(({ key, line }) => `${key} (line ${line})`));
  return [...typos, `${file}: unknown keys ${keys} have no effect.`];
}

/** Lists at most ten names. */
function someOf(names: readonly string[]): string {
  const more = names.length > 10 ? ` and ${names.length - 10} more` : "";
  return `${names.slice(0, 10).join(", ")}${more}`;
}
