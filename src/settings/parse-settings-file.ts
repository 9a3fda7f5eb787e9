import { relative } from "node:path";
import { parseJsonc } from "../lib/index.ts";
import {
  canonicalToolName,
  type Effect,
  type Rule,
  readHookEntries,
  type ScopedCompactRule,
} from "../protocol/index.ts";
import { anchorRule } from "./anchor-rule.ts";
import { checkSettings } from "./check-settings.ts";
import { compactRules } from "./compact-rules.ts";
import { hashApproval } from "./hash-approval.ts";
import { type Approval, limitProject, type ProjectLimits } from "./limit-project.ts";
import type { SettingsLayer } from "./merge-settings.ts";
import { ruleText } from "./rule-text.ts";
import type { SettingsFile } from "./settings-files.ts";

/** What one file gives. With a problem it gives nothing, and the caller must not go on as if the file were not there. */
export interface ParsedFile {
  readonly layer?: SettingsLayer;
  readonly rules: readonly Rule[];
  readonly compact: readonly ScopedCompactRule[];
  readonly notices: readonly string[];
  readonly problems: readonly string[];
  readonly off: readonly string[];
  readonly approvals: readonly Approval[];
}

export type Trust = Omit<ProjectLimits, "name">;

export function parseSettingsFile(text: string, file: SettingsFile, trust: Trust): ParsedFile {
  const { path } = file;
  if (text.replace(/^\ufeff/, "").trim() === "") return { ...nothing, notices: [`${path} is empty; using defaults.`] };
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, column, message } = parsed.error;
    const cure = "Repair the file, or move it away to run without it.";
    return broken(`${path}:${line}:${column}: ${message}. ${cure}`);
  }
  const warnings = parsed.warnings.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}.`);
  const found =
    file.kind === "compact"
      ? parseCompact(parsed.value, file, trust)
      : parseLayer(parsed.value, { ...file, text }, trust);
  return { ...found, notices: [...warnings, ...found.notices] };
}

const nothing: ParsedFile = { rules: [], compact: [], notices: [], problems: [], off: [], approvals: [] };

function broken(...problems: readonly string[]): ParsedFile {
  return { ...nothing, problems };
}

function parseLayer(value: unknown, file: SettingsFile & { readonly text: string }, trust: Trust): ParsedFile {
  const { path, scope, text } = file;
  if (!isMapping(value)) return broken(`${path}: settings must be an object: { … }`);
  const readable = withRuleTexts(value);
  const limited =
    file.inside === undefined ? { ...noLimits, values: readable } : limitProject(readable, limitsOf(file, trust));
  const foreign: string[] = [];
  // Only now: what was approved are the words as they stand in the file.
  const meant = placed(limited.values, file);
  const values = file.kind === "claude" ? inOurWords(meant, foreign) : meant;
  const { wrong, unknown } = checkSettings(values);
  // What has no rules in it and is another program's need not fit ours.
  const harmless = file.kind === "claude" ? wrong.filter(({ key }) => key !== "permissions" && key !== "hooks") : [];
  const problems = wrong.filter((each) => !harmless.includes(each));
  if (problems.length > 0) {
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
    return broken(`${path}: ${problems[0]?.message}${more}. Correct the value, or remove the key.`);
  }
  for (const { key } of harmless) delete values[key];
  const notices = [
    ...foreign.map((what) => `${path}: ${what}`),
    ...harmless.map(({ message }) => `${path}: ${message}; it has no effect.`),
    ...(unknown.length > 0 ? [`${path}: unknown ${quoted(unknown)} no effect.`] : []),
    ...(limited.refused.length > 0 ? [`${path}: a project may not set ${someOf(limited.refused)}; ignored.`] : []),
    ...(limited.changed.length > 0
      ? [`${path}: ${limited.changed.join(", ")} changed since you trusted this project and is off. ${cureOf(file)}`]
      : []),
    ...(limited.unapproved.length > 0
      ? [`${path}: ${limited.unapproved.join(", ")} was approved by nobody yet and is off. ${cureOf(file)}`]
      : []),
    ...foreignHooks(values["hooks"], path, text),
  ];
  const { off, approvals } = limited;
  return {
    ...nothing,
    layer: { scope, file: path, values },
    rules: rulesOf(values, file),
    notices,
    off: off.length > 0 ? [`${shownName(file)}: ${someOf(off)}`] : [],
    approvals,
  };
}

/** What is not run, with the line of its event. */
function foreignHooks(hooks: unknown, path: string, text: string): string[] {
  if (hooks === undefined) return [];
  return readHookEntries(hooks).problems.map(({ event, message }) => `${path}:${lineOf(text, event)}: ${message}`);
}

/** Of the key in "hooks". */
function lineOf(text: string, event = "hooks"): number {
  const hooks = Math.max(0, text.indexOf('"hooks"'));
  const at = text.indexOf(JSON.stringify(event), hooks);
  return text.slice(0, Math.max(at, hooks)).split("\n").length;
}

const noLimits = { off: [], changed: [], unapproved: [], refused: [], approvals: [] } as const;

function cureOf({ above }: SettingsFile): string {
  return `Look at it, then run "retinue trust add${above === undefined ? "" : ` ${above.path}`}".`;
}

function parseCompact(value: unknown, file: SettingsFile, trust: Trust): ParsedFile {
  const { path, scope } = file;
  const { rules, problems } = compactRules(value);
  if (problems.length > 0) return broken(...problems.map((problem) => `${path}: ${problem}.`));
  const compact = rules.map((rule) => ({ ...rule, scope, file: path }));
  if (file.inside === undefined || rules.every(({ effect }) => effect !== "allow")) return withLists(compact, file);
  const strict = compact.filter(({ effect }) => effect !== "allow");
  const name = nameOf(file);
  if (!trust.trusted) return { ...withLists(strict, file), off: [`${shownName(file)}: allow`] };
  // The order decides, so it is approved too.
  const approvals = [{ kind: "permissions", name, hash: hashApproval(rules) }];
  const isApproved = trust.approvedHash === undefined || trust.approvedHash("permissions", name) === approvals[0]?.hash;
  if (isApproved) return { ...withLists(compact, file), approvals };
  const isNew = trust.approvedHash?.("permissions", name) === undefined;
  const why = isNew ? "its rules were approved by nobody yet" : "its rules changed since you trusted this project";
  const notices = [`${path}: ${why}; what they allow is off. ${cureOf(file)}`];
  return { ...withLists(strict, file), notices, approvals };
}

/** In the merged settings they are lists, for whoever knows only those: stricter than the lines, since no order loosens them. */
function withLists(compact: readonly ScopedCompactRule[], file: SettingsFile): ParsedFile {
  const place = file.above?.path;
  const rules = compact.flatMap(ruleOfLine).map((rule): Rule => {
    if (place === undefined) return rule;
    return { ...rule, text: anchorRule(rule.text, { effect: rule.effect, directory: place }) };
  });
  const listed = (effect: Effect): readonly string[] =>
    rules.flatMap((rule) => (rule.effect === effect ? [rule.text] : []));
  const permissions = { allow: listed("allow"), ask: listed("ask"), deny: listed("deny") };
  return { ...nothing, compact, rules, layer: { scope: file.scope, file: file.path, values: { permissions } } };
}

/** As it stands in approvals: the same from wherever one works. */
function nameOf({ path, inside }: SettingsFile): string {
  return inside === undefined ? path : relative(inside, path);
}

function shownName({ path, shown = path }: SettingsFile): string {
  return shown;
}

function limitsOf(file: SettingsFile, trust: Trust): ProjectLimits {
  return { ...trust, name: nameOf(file) };
}

function withRuleTexts(value: Record<string, unknown>): Record<string, unknown> {
  return mapRules(value, ruleText);
}

/** Relative paths in a file above the workspace are meant from where that file stands. */
function placed(value: Record<string, unknown>, { above }: SettingsFile): Record<string, unknown> {
  if (above === undefined) return value;
  const { path: directory } = above;
  return mapRules(value, (entry, effect) =>
    typeof entry === "string" ? anchorRule(entry, { effect, directory }) : entry,
  );
}

function mapRules(
  value: Record<string, unknown>,
  change: (entry: unknown, effect: Effect) => unknown,
): Record<string, unknown> {
  const { permissions } = value;
  if (!isMapping(permissions)) return { ...value };
  const lists = Object.entries(permissions).map(([key, list]): [string, unknown] => [
    key,
    Array.isArray(list) && isEffect(key) ? list.map((entry) => change(entry, key)) : list,
  ]);
  return { ...value, permissions: Object.fromEntries(lists) };
}

function isEffect(key: string): key is Effect {
  return key === "allow" || key === "ask" || key === "deny";
}

/** Modes and models we have no word for fall back to the default: never to something looser. */
function inOurWords(values: Record<string, unknown>, notices: string[]): Record<string, unknown> {
  const mine = { ...values };
  const { model, permissions } = mine;
  if (model === "default") delete mine["model"];
  if (model === "opusplan") mine["model"] = "opus";
  if (isMapping(permissions) && typeof permissions["defaultMode"] === "string") {
    const { defaultMode, ...rest } = permissions;
    if (checkSettings({ permissions: { defaultMode } }).wrong.length > 0) {
      notices.push(`the permission mode ${JSON.stringify(defaultMode)} is not known here; the default applies.`);
      mine["permissions"] = rest;
    }
  }
  return mine;
}

function rulesOf({ permissions }: Record<string, unknown>, { scope, path }: SettingsFile): Rule[] {
  if (!isMapping(permissions)) return [];
  return (["allow", "ask", "deny"] as const).flatMap((effect: Effect) =>
    ((permissions[effect] ?? []) as readonly string[]).map((text) => ({ text, effect, scope, file: path })),
  );
}

function quoted(keys: readonly string[]): string {
  const names = someOf(keys.map((key) => `"${key}"`));
  return keys.length === 1 ? `key ${names} has` : `keys ${names} have`;
}

/** A file can have more names than anybody wants to read. */
function someOf(names: readonly string[]): string {
  const more = names.length > 10 ? ` and ${names.length - 10} more` : "";
  return `${names.slice(0, 10).join(", ")}${more}`;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ruleOfLine({ tool, pattern, effect, scope, file }: ScopedCompactRule): readonly Rule[] {
  const isWhole = pattern === undefined || pattern === "*" || pattern === "**";
  // Everything may be used: no rule, but what is there without one.
  if (tool === "*" && isWhole && effect === "allow") return [];
  // Said of all tools, a pattern is one of files.
  const names = tool === "*" && !isWhole ? ["Read", "Edit"] : [canonicalToolName(tool)];
  return names.map((name) => ({
    text: isWhole ? name : `${name}(${pattern})`,
    effect,
    scope,
    file,
    form: "compact",
  }));
}
