import type { Access, Decision, Effect, ResolvedPath, Rule, RuleScope } from "../../protocol/index.ts";
import type { CompiledRule } from "../rules/compile-policy.ts";
import type { Verdict } from "../rules/weigh-rules.ts";

/** The built-in rule that asks for approval to leave plan mode. */
export const PLAN_APPROVAL = "plan approval";

/** The built-in rule that passes an agent's question on to the user. */
export const USER_QUESTION = "user question";

/** The built-in rule that asks before writing files that can affect what is run or permitted later. */
export const PROTECTED_FILE = "protected file";

/** The built-in rule that asks because a file has several names. */
export const HARD_LINK = "hard link";

/** The built-in rule that denies reading `.env` files. */
export const SECRET_FILE = "secret file";

export const READ_ONLY_COMMAND = "read-only command";
export const CHANGED_HOOK = "changed hook";
/** The built-in rule that asks because another command on the line may change where a path leads. */
export const CREATED_PATH = "created path";
/** The built-in rule that asks because only the shell knows what a command would run. */
export const HIDDEN_COMMAND = "hidden command";
/** The built-in rule that asks because a git command could print a tracked file that a rule denies. */
export const TRACKED_FILES = "tracked files";
export const WRITE_IN_WORKSPACE = "write in workspace";

/** One access of a tool call, with its path resolved. */
export interface AccessRequest {
  readonly toolName: string;
  readonly access: Exclude<Access, { readonly kind: "command" }>;
  readonly resolved: ResolvedPath | undefined;
  /** The names of files that have several (hard links), by `hardLink`; undefined if they could not be listed. */
  readonly names: ReadonlyMap<string, readonly string[]> | undefined;
  /**
   * How a command uses the file that a word of it names. Rules for whole tools apply to the command, not to the file,
   * except that `Edit` restricts every file that the command is known to change.
   */
  readonly use?: "unknown" | "write" | "replace" | undefined;
}

/**
 * The result of configured and built-in rules before the mode is applied. `open`: no rule decided, so the mode decides.
 * `insist`: a person must approve the call, whatever the mode.
 */
export interface Finding {
  readonly effect: Effect | "open" | "insist";
  readonly rule: string;
  readonly scope: RuleScope;
  readonly file?: string | undefined;
  readonly reason: string;
  /** True if the command line contains a git command that only reads and that no rule spells out. */
  readonly readingGit?: boolean | undefined;
  /** True if the call may do what a deny rule denies, so that a person must decide. */
  readonly mayEvade?: boolean | undefined;
}

export function builtin(effect: Finding["effect"], rule: string, reason: string): Finding {
  return { effect, rule, scope: "builtin", reason };
}

/** Names a rule's origin in messages. */
export function originName(scope: RuleScope): string {
  return scope === "flag" ? "a session option" : `${scope} scope`;
}

export function byRule({ rule, broken }: CompiledRule, what: string): Finding {
  const where = rule.file === undefined ? originName(rule.scope) : `${originName(rule.scope)}, ${rule.file}`;
  const doing = { allow: "allows", ask: "asks about", deny: "denies" }[rule.effect];
  const note = broken ? " (its specifier is invalid, so it applies to the whole tool)" : "";
  return { ...originOf(rule), reason: `The rule \`${rule.text}\` (${where}) ${doing} ${what}${note}.` };
}

export function byVerdict({ rule, layer }: Verdict, what: string): Finding {
  const left = layer === undefined ? [] : leftOf(rule, layer.rules);
  if (left.length === 0) return byRule(rule, what);
  const texts = left.join(", ");
  const reason = `This agent's definition allows ${rule.rule.text} only for ${texts}.`;
  return { ...originOf(rule.rule), rule: texts, reason };
}

/** For a rule that denies a whole tool, returns the rules in the same layer that still allow some uses of the tool. */
function leftOf({ rule, target }: CompiledRule, layer: readonly CompiledRule[]): readonly string[] {
  if (rule.effect !== "deny" || target.kind !== "whole") return [];
  const parts = layer.filter((each) => each.rule.effect === "allow" && each.coversTool(rule.text));
  return parts.map((each) => each.rule.text);
}

function originOf({ effect, text, scope, file }: Rule): Omit<Finding, "reason"> {
  return { effect: effect === "ask" ? "insist" : effect, rule: text, scope, file };
}

export function asDecision(finding: Finding, effect: Effect, reason = finding.reason): Decision {
  const { rule, scope, file } = finding;
  const readsOnly = effect === "allow" && rule === READ_ONLY_COMMAND;
  const insists = effect === "ask" && finding.effect === "insist" ? true : undefined;
  return { effect, rule, scope, file, reason, readsOnly: readsOnly ? true : undefined, insists };
}
