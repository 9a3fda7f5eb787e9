import { nearest, testPattern } from "../lib/index.ts";
import { canonicalToolName, type HookEvent, isKnownTool, isSameAgent, toolNames } from "../protocol/index.ts";
import { type Hook, nameOf } from "./hook.ts";

export interface HookPlan {
  readonly hooks: readonly Hook[];
  /** Problems with matchers, to be shown to the user. */
  readonly notices: readonly string[];
}

/** Selects the hooks for an event. `subject` is the tool, agent type or trigger that matchers are compared with. */
export function planHooks(hooks: readonly Hook[], event: HookEvent, subject: string | undefined): HookPlan {
  const notices: string[] = [];
  const planned = hooks.filter((hook) => {
    if (hook.event !== event) return false;
    const match = matches(hook.matcher, event, subject);
    if (match.problem !== undefined) notices.push(`The matcher of ${nameOf(hook)} ${match.problem}`);
    return match.holds;
  });
  return { hooks: planned, notices };
}

interface Match {
  readonly holds: boolean;
  readonly problem?: string | undefined;
}

/**
 * Tests whether a hook's matcher matches the subject. An invalid matcher matches everything, because a guard must not
 * be skipped due to a typo.
 */
function matches(matcher: string | undefined, event: HookEvent, subject: string | undefined): Match {
  const text = matcher?.trim() ?? "";
  if (text === "" || text === "*" || subject === undefined) return { holds: true };
  const [name, isSame] = comparison(event, subject);
  const names = namesIn(text);
  if (names !== undefined) return { holds: names.some((each) => isSame(each, name)) };
  return asRule(text, name, isSame) ?? testMatcher(text, name);
}

/** Returns the names in a matcher such as `Edit|Write`; undefined if the matcher is a regular expression. */
function namesIn(matcher: string): readonly string[] | undefined {
  return /^[\w\s,|-]+$/.test(matcher) ? matcher.split(/[|,]/).map((each) => each.trim()) : undefined;
}

/** Returns a notice for each name in a hook's matcher that is not a tool, because the hook never runs for it. */
export function matcherNotices(hook: Hook, ownTools: readonly string[] = []): readonly string[] {
  const place = hook.kind === "command" && hook.where !== undefined ? `${hook.where}: ` : "";
  const names = isAboutTools(hook.event) ? (namesIn(hook.matcher ?? "") ?? []) : [];
  return names.flatMap((name) => {
    if (name === "" || isKnownTool(name) || ownTools.includes(name)) return [];
    const [meant] = nearest(name, [...toolNames, ...ownTools]);
    const hint = meant === undefined ? " Use the name of a tool." : ` Did you mean ${meant}?`;
    return [
      `${place}The matcher of ${nameOf(hook)} names "${name}", which is not a tool, so the hook never runs for it.${hint}`,
    ];
  });
}

/** Returns what is wrong with a hook's matcher, without waiting for the event that the hook is for. */
export function checkMatcher(hook: Hook): readonly string[] {
  const place = hook.kind === "command" && hook.where !== undefined ? `${hook.where}: ` : "";
  const tool = /^(\w+)\(/.exec(hook.matcher ?? "")?.[1] ?? "any";
  const { notices } = planHooks([hook], hook.event, tool);
  return [...matcherNotices(hook), ...notices.map((notice) => `${place}${notice}`)];
}

/** Detects a permission rule such as `Bash(git *)`, which would silently match nothing as a regular expression. */
function asRule(text: string, name: string, isSame: (left: string, right: string) => boolean): Match | undefined {
  const tool = /^(\w+)\(.*\)$/s.exec(text)?.[1];
  if (tool === undefined || !toolNames.includes(canonicalToolName(tool))) return undefined;
  const problem = `(${text}) looks like a permission rule, so the hook runs for every ${tool} call. Use only the tool's name.`;
  return isSame(tool, name) ? { holds: true, problem } : { holds: false };
}

/** Returns the name to compare for an event, with aliases resolved, and the function that compares it. */
function comparison(event: HookEvent, subject: string): [string, (left: string, right: string) => boolean] {
  if (event === "SubagentStart" || event === "SubagentStop") return [subject, isSameAgent];
  if (isAboutTools(event)) return [canonicalToolName(subject), (left, right) => canonicalToolName(left) === right];
  return [subject, (left, right) => left === right];
}

function isAboutTools(event: HookEvent): boolean {
  return event === "PreToolUse" || event === "PostToolUse" || event === "PermissionRequest";
}

const LIMIT_MS = 50;
const LONGEST_PATTERN = 1_000;
const LONGEST_NAME = 500;

/**
 * Tests whether a regular expression matches the whole name. An invalid or slow expression is treated as a match, and
 * the problem is reported.
 */
function testMatcher(pattern: string, name: string): Match {
  if (pattern.length > LONGEST_PATTERN || name.length > LONGEST_NAME)
    return { holds: true, problem: "is too long to test, so the hook always runs. Use a shorter one." };
  const tested = testPattern(`^(?:${pattern})$`, { texts: [name], flags: "s", limitMs: LIMIT_MS });
  if (tested.ok) return { holds: tested.matches[0] === true };
  const problem =
    tested.problem === "invalid"
      ? `(${pattern}) is not a valid regular expression, so the hook always runs. Use names ("Edit|Write") or a valid expression ("mcp__.*").`
      : `(${pattern}) takes too long to test, so the hook always runs. Avoid nested repetitions.`;
  return { holds: true, problem };
}
