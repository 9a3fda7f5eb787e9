import { existsSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isWithin, UserError } from "../../lib/index.ts";
import { checkRules } from "../../permissions/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import type {
  Effect,
  Head,
  PermissionMode,
  Policy,
  PolicyLayer,
  Rule,
  RuleScope,
  Settings,
} from "../../protocol/index.ts";
import { askUserQuestionSpec, planSpecs, type RunRequest } from "../../runs/index.ts";
import { existingPaths } from "../directories.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/** Throws if the settings disable the requested mode or the default mode. */
export function checkMode({ permissions = {} }: Settings, requested: PermissionMode | undefined): void {
  const mode = requested ?? permissions.defaultMode;
  if (mode !== "bypassPermissions" || permissions.disableBypassPermissionsMode !== "disable") return;
  throw new UserError("The mode bypassPermissions is switched off by permissions.disableBypassPermissionsMode", {
    code: "settings",
    cure: 'Choose another mode. "retinue config show --origin" shows where it is set.',
    exitCode: 2,
  });
}

/**
 * Collects the rules from the settings and the options, and those that protect the state directory. Reports invalid
 * rules.
 */
export function collectRules(
  { rules: fromFiles, settingsFile: file, allowedTools, disallowedTools }: SessionOptions,
  { settings: { permissions = {} }, ...context }: Pick<SessionContext, "settings" | "cwd" | "home">,
): { readonly rules: readonly Rule[]; readonly problems: readonly string[] } {
  const rules = [
    ...(fromFiles ?? [
      ...rulesOf(permissions.allow, { effect: "allow", scope: "user", file }),
      ...rulesOf(permissions.ask, { effect: "ask", scope: "user", file }),
      ...rulesOf(permissions.deny, { effect: "deny", scope: "user", file }),
    ]),
    ...rulesOf(allowedTools, { effect: "allow", scope: "flag" }),
    ...rulesOf(disallowedTools, { effect: "deny", scope: "flag" }),
    ...stateRules(context, permissions.additionalDirectories),
  ];
  return { rules, problems: checkRules(rules).map(({ message }) => message) };
}

/**
 * Returns rules that require approval for writing settings, trust, plugins and sessions in a state directory that is in
 * the workspace. A directory named `.retinue` is protected anyway. Memory and worktrees are not included, because
 * agents work there.
 */
function stateRules(
  { cwd, home }: Pick<SessionContext, "cwd" | "home">,
  additionalDirectories: readonly string[] = [],
): readonly Rule[] {
  const [real] = existingPaths([home]);
  const directory = real ?? home;
  const isInside = [cwd, ...existingPaths(additionalDirectories)].some((root) => isWithin(directory, root));
  if (!isInside || basename(directory) === ".retinue") return [];
  const escaped = directory.replace(/[*?[\]{}()!\\]/g, "\\$&");
  const texts = stateParts.map((part) => `Edit(/${join(escaped, part)})`);
  return rulesOf(texts, { effect: "ask", scope: "session" });
}

const stateParts = [
  "settings.json",
  "permissions.jsonc",
  "trust.json",
  "plugins.json",
  "AGENTS.md",
  "CLAUDE.md",
  "plugins",
  "projects",
];

interface RuleOrigin {
  readonly effect: Effect;
  readonly scope: RuleScope;
  readonly file?: string | undefined;
}

function rulesOf(texts: readonly string[] = [], { effect, scope, file }: RuleOrigin): Rule[] {
  return texts.map((text) => ({ text, effect, scope, file }));
}

/**
 * Returns the tools that need a person: those for plan mode if someone can approve a plan, and the one for questions if
 * someone can answer. A resumed conversation keeps the latter, because a question may have been answered in the
 * meantime.
 */
export function attendedTools(
  { interactive, approvals, onAsk, permissionMode }: SessionOptions,
  {
    settings: { permissions = {} },
    previousHead,
  }: { readonly settings: Settings; readonly previousHead?: Head | undefined },
): readonly ToolSpec[] {
  if ((permissionMode ?? permissions.defaultMode) === "dontAsk") return [];
  const canAnswer = approvals !== undefined || onAsk === "wait";
  const canApprove = canAnswer || interactive === true || onAsk === "hook";
  const couldAsk = previousHead?.tools.some(({ name }) => name === askUserQuestionSpec.declaration.name);
  return [...(canApprove ? planSpecs : []), ...(canAnswer || couldAsk ? [askUserQuestionSpec] : [])];
}

/** Returns the mode that follows plan mode in a session that began in plan mode. */
export function modeAfterPlan({ permissions = {} }: Settings): PermissionMode {
  const { defaultMode = "default" } = permissions;
  return defaultMode === "plan" ? "default" : defaultMode;
}

interface OpeningModes {
  /** Mode that was requested when the session was opened. */
  readonly requested: PermissionMode | undefined;
  /** Mode of the main agent according to its definition, the settings and the options. */
  readonly mode: PermissionMode;
  /** Last plan mode change in the transcript. */
  readonly before: "entered" | "left" | undefined;
}

/**
 * Returns whether the first run of an opened session enters or leaves plan mode. A resumed session stays in plan mode
 * unless a mode is requested.
 */
export function planChange({ requested, mode, before }: OpeningModes): Pick<RunRequest, "plan"> {
  if (requested === undefined) return before === undefined && mode === "plan" ? { plan: "enter" } : {};
  if (requested === "plan") return before === "entered" ? {} : { plan: "enter" };
  return before === "entered" ? { plan: "leave" } : {};
}

export interface CautiousPolicy {
  readonly policy: Policy;
  readonly notices: readonly string[];
}

/**
 * Requires approval for git in an untrusted directory whose git configuration names programs, because git may run them
 * even for read-only commands.
 */
export function askAboutGit(policy: Policy, untrusted: string | undefined): CautiousPolicy {
  const isAsked = untrusted !== undefined && policy.mode !== "bypassPermissions";
  const file = isAsked ? gitConfigurations(untrusted).find(namesPrograms) : undefined;
  if (file === undefined) return { policy, notices: [] };
  const layer: PolicyLayer = { rules: [{ text: "Bash(git:*)", effect: "ask", scope: "builtin", file }] };
  const why = isBlocking(file)
    ? "can't be checked, because it is not an ordinary file or is too large"
    : "names programs that git would run";
  const notice = `${file} ${why}, and this directory is not trusted, so git commands need approval. Review the file, then trust the directory with "retinue trust add", or for one run with the option \`trusted\`.`;
  return { policy: { ...policy, layers: [...(policy.layers ?? []), layer] }, notices: [notice] };
}

/** Returns the repository's own configuration files that git reads in this directory. */
function gitConfigurations(cwd: string): readonly string[] {
  const found = gitDirectory(cwd);
  if (found === undefined) return [];
  const common = readText(join(found, "commondir"))?.trim();
  const shared = common ? resolve(found, common) : found;
  const commonLink = join(found, "commondir");
  return [join(shared, "config"), join(shared, "config.worktree"), join(found, "config.worktree"), commonLink];
}

function gitDirectory(directory: string): string | undefined {
  const path = join(directory, ".git");
  const stat = statAt(path);
  if (stat?.isDirectory()) return path;
  const [, elsewhere = ""] = (stat?.isFile() && /^gitdir:(.+)$/.exec(readText(path)?.trimEnd() ?? "")) || [];
  if (elsewhere.trim() !== "") return resolve(directory, elsewhere.trim());
  if (["HEAD", "config", "objects"].every((name) => existsSync(join(directory, name)))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : gitDirectory(above);
}

/**
 * Returns true if a configuration file may name programs. Searches the whole text for keywords regardless of syntax,
 * because a false alarm is better than a miss.
 */
function namesPrograms(file: string): boolean {
  if (isBlocking(file)) return true;
  const text = readText(file)?.replace(lfsFilter, "") ?? "";
  return dangerousKeywords.some((keywords) => keywords.every((keyword) => keyword.test(text)));
}

/** Matches filter lines that git-lfs itself writes. */
const lfsFilter =
  /^[ \t]*(?:clean|smudge|process)[ \t]*=[ \t]*git-lfs (?:clean -- %f|smudge(?: --skip)? -- %f|filter-process(?: --skip)?)\s*$/gm;

const dangerousKeywords: readonly (readonly RegExp[])[] = [
  [/\[\s*include/i],
  [/\[\s*filter/i, /\b(?:clean|smudge|process|customtransfer)\b/i],
  [/\[\s*diff/i, /\b(?:textconv|command|external)\b/i],
];

function readText(file: string): string | undefined {
  try {
    return isBlocking(file) ? undefined : readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns true if reading a file could take forever: a pipe, a device, or a huge file. */
function isBlocking(file: string): boolean {
  const stat = statAt(file);
  return stat !== undefined && (!stat.isFile() || stat.size > MAX_BYTES);
}

const MAX_BYTES = 1024 * 1024;

function statAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
