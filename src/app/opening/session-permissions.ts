import { basename, join } from "node:path";
import { stricter } from "../../agents/index.ts";
import { UserError } from "../../lib/index.ts";
import { checkRules } from "../../permissions/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import type {
  Effect,
  GitPrograms,
  Head,
  PermissionMode,
  Policy,
  PolicyLayer,
  ProjectSnapshot,
  Rule,
  RuleScope,
  Settings,
} from "../../protocol/index.ts";
import { askUserQuestionSpec, planSpecs, type RunRequest } from "../../runs/index.ts";
import { withoutManaged } from "../settings/without-managed.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";

/** Throws if the settings disable the requested mode or the default mode. */
export function checkMode({ permissions = {} }: Settings, requested: PermissionMode | undefined): void {
  const mode = requested ?? permissions.defaultMode;
  if (mode !== "bypassPermissions" || permissions.disableBypassPermissionsMode !== "disable") return;
  throw new UserError("The bypassPermissions mode is switched off by permissions.disableBypassPermissionsMode", {
    code: "settings",
    fix: 'Choose another mode. "retinue config show --origin" shows where it is set.',
    exitCode: 2,
  });
}

/**
 * Throws if an open session can't be changed to this mode or model, because it is set in an administrator's settings.
 */
export function checkChange(
  { permissionMode, model }: Pick<SessionOptions, "permissionMode" | "model">,
  { settings = {}, settingsOrigins = [] }: Pick<SessionOptions, "settings" | "settingsOrigins">,
): void {
  checkMode(settings, permissionMode);
  const { defaultMode } = settings.permissions ?? {};
  const isFreer = permissionMode && defaultMode && stricter(permissionMode, defaultMode) !== permissionMode;
  const wanted = { permissionMode: isFreer ? permissionMode : undefined, model };
  const [fixed] = withoutManaged(wanted, settingsOrigins).overridden;
  if (fixed === undefined) return;
  const what = fixed.name === "model" ? "model" : "permission mode";
  throw new UserError(`The ${what} can't be changed, because it is set in managed settings`, {
    code: "settings",
    fix: `See ${fixed.path} in ${fixed.file ?? "the managed settings"}.`,
    exitCode: 2,
  });
}

/**
 * Collects the rules from the settings and the options, and those that protect the state directory. Reports invalid
 * rules.
 */
export function collectRules(
  { rules: fromFiles, settingsFile: file, allowedTools, disallowedTools, tools = [] }: SessionOptions,
  { settings: { permissions = {} } }: Pick<SessionContext, "settings">,
  { stateInWorkspace }: Pick<ProjectSnapshot, "stateInWorkspace">,
): { readonly rules: readonly Rule[]; readonly problems: readonly string[] } {
  const rules = [
    ...(fromFiles ?? [
      ...rulesOf(permissions.allow, { effect: "allow", scope: "user", file }),
      ...rulesOf(permissions.ask, { effect: "ask", scope: "user", file }),
      ...rulesOf(permissions.deny, { effect: "deny", scope: "user", file }),
    ]),
    ...rulesOf(allowedTools, { effect: "allow", scope: "flag" }),
    ...rulesOf(disallowedTools, { effect: "deny", scope: "flag" }),
    ...stateRules(stateInWorkspace),
  ];
  const own = tools.map(({ name }) => name);
  return { rules, problems: checkRules(rules, own).map(({ message }) => message) };
}

/**
 * Returns rules that require approval for writing settings, trust, plugins and sessions in a state directory that is in
 * the workspace. A directory named `.retinue` is protected anyway. Memory and worktrees are not included, because
 * agents work there.
 */
function stateRules(directory: string | undefined): readonly Rule[] {
  if (directory === undefined || basename(directory) === ".retinue") return [];
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
 * Returns the tools that need a person: the plan mode tools if someone can approve a plan, and AskUserQuestion if
 * someone can answer. A resumed conversation keeps AskUserQuestion, because a question may have been answered since.
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

/** Returns a main agent's mode apart from plan mode. In a session that began in plan mode, this is the default mode. */
export function modeApartFromPlan({ mode }: Policy, { permissions = {} }: Settings): PermissionMode {
  if (mode !== "plan") return mode;
  const { defaultMode = "default", disableBypassPermissionsMode } = permissions;
  const isDisabled = defaultMode === "bypassPermissions" && disableBypassPermissionsMode === "disable";
  return defaultMode === "plan" || isDisabled ? "default" : defaultMode;
}

/**
 * Returns the mode in which to open a session: the requested mode, or the mode that the session was last changed to.
 */
export function beginningMode(
  { permissionMode, keepsMode, settingsOrigins = [] }: SessionOptions,
  { settings: { permissions = {} } }: Pick<SessionContext, "settings">,
  changedTo: PermissionMode | undefined,
): PermissionMode | undefined {
  if (!keepsMode || changedTo === undefined) return permissionMode;
  const { defaultMode = changedTo, disableBypassPermissionsMode } = permissions;
  if (changedTo === "bypassPermissions" && disableBypassPermissionsMode === "disable") return permissionMode;
  const isManaged = withoutManaged({ permissionMode: changedTo }, settingsOrigins).overridden.length > 0;
  return isManaged ? stricter(changedTo, defaultMode) : changedTo;
}

interface OpeningModes {
  /** Mode requested when the session was opened. */
  readonly requested: PermissionMode | undefined;
  /** The main agent's mode according to its definition, the settings and the options. */
  readonly mode: PermissionMode;
  /** Last plan mode change in the transcript. */
  readonly before: "entered" | "left" | undefined;
  /** Mode that follows plan mode if it is entered now. */
  readonly afterPlan: PermissionMode;
}

/**
 * Returns the change of plan mode with which the first run of an opened session begins, if there is one. A resumed
 * session stays in plan mode unless a mode is requested.
 */
export function planChange({ requested, mode, before, afterPlan }: OpeningModes): RunRequest["plan"] {
  const enter = { kind: "enter", afterPlan } as const;
  if (requested === undefined) return before === undefined && mode === "plan" ? enter : undefined;
  if (requested === "plan") return before === "entered" ? undefined : enter;
  return before === "entered" ? { kind: "leave" } : undefined;
}

export interface CautiousPolicy {
  readonly policy: Policy;
  readonly notices: readonly string[];
}

/**
 * Requires approval for git in an untrusted directory whose git configuration names programs, or that has git hooks,
 * whatever rules allow.
 */
export function askAboutGit(policy: Policy, found: GitPrograms | undefined): CautiousPolicy {
  if (found === undefined || policy.mode === "bypassPermissions") return { policy, notices: [] };
  const { file, checked, onlyChanges } = found;
  const layer: PolicyLayer = { rules: [{ text: "Bash(git:*)", effect: "ask", scope: "builtin", file }], onlyChanges };
  const isHook = /\/hooks\/[^/]+$/.test(file);
  const why = checked
    ? `${isHook ? "is a program" : "may name programs"} that git would run`
    : "can't be checked, because it is not an ordinary file or is too large";
  const notice = `${file} ${why}, and this directory is not trusted, so git commands${onlyChanges ? " that change something" : ""} need approval. Review the file, then trust the directory with "retinue trust add", or for one run with the \`trusted\` option.`;
  return { policy: { ...policy, layers: [...(policy.layers ?? []), layer] }, notices: [notice] };
}
