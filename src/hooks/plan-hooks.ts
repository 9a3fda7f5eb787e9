import { misspelledName, nearest, testPattern } from "../lib/index.ts";
import {
  canonicalToolName,
  FORK_TYPE,
  type HookEvent,
  isKnownTool,
  isSameAgent,
  toolNames,
} from "../protocol/index.ts";
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
    if (match.problem !== undefined) notices.push(noticeOf(hook, match.problem));
    return match.holds;
  });
  return { hooks: planned, notices };
}

/** What is wrong with a matcher. `message` continues a sentence about the matcher. */
interface Problem {
  readonly message: string;
  readonly fix: string;
}

interface Match {
  readonly holds: boolean;
  readonly problem?: Problem | undefined;
}

function noticeOf(hook: Hook, { message, fix }: Problem): string {
  const place = hook.kind === "command" && hook.where !== undefined ? `${hook.where}: ` : "";
  return `${place}The matcher of ${nameOf(hook)} ${message} ${fix}`;
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

/** Names that a matcher can contain, besides those of the built-in tools. */
export interface MatcherNames {
  /** Tools that the program defines. */
  readonly tools?: readonly string[] | undefined;
  /** All agents; if absent, the names of agents are not checked. */
  readonly agents?: readonly string[] | undefined;
  /** Agent whose definition contains the hook. */
  readonly owner?: string | undefined;
}

/** Returns a notice for each unknown name in a hook's matcher, because the hook never runs for it. */
export function matcherNotices(hook: Hook, names: MatcherNames = {}): readonly string[] {
  return unknownNames(hook, names).map((problem) => noticeOf(hook, problem));
}

/** A problem with a hook's matcher: a sentence about it, and what to do. */
export interface MatcherProblem {
  readonly message: string;
  readonly fix: string;
}

/** Returns what is wrong with a hook's matcher, without waiting for the event that the hook is for. */
export function checkMatcher(hook: Hook, names: MatcherNames = {}): readonly MatcherProblem[] {
  const tool = /^(\w+)\(/.exec(hook.matcher ?? "")?.[1] ?? "any";
  const { problem } = matches(hook.matcher, hook.event, tool);
  const problems = [...unknownNames(hook, names), ...(problem === undefined ? [] : [problem])];
  return problems.map(({ message, fix }) => ({ message: `The matcher of ${nameOf(hook)} ${message}`, fix }));
}

function unknownNames(hook: Hook, { tools = [], agents, owner }: MatcherNames): readonly Problem[] {
  const names = (namesIn(hook.matcher ?? "") ?? []).filter((name) => name !== "");
  if (isAboutTools(hook.event))
    return names
      .filter((name) => !isKnownTool(name) && !tools.includes(name))
      .map((name) => unknownName(name, { kind: "a tool", meant: nearest(name, [...toolNames, ...tools])[0] }));
  if (!isAboutAgents(hook.event)) return [];
  if (owner !== undefined) return names.filter((name) => !isSameAgent(name, owner)).map((name) => other(name, owner));
  if (agents === undefined) return [];
  return names.flatMap((name) => {
    if ([FORK_TYPE, ...agents].some((agent) => isSameAgent(agent, name))) return [];
    const meant = misspelledName(name, agents);
    // The user's settings apply in every directory, so a name that is unknown here may be an agent's elsewhere.
    const mayBeElsewhere = hook.kind === "command" && hook.source === "user";
    return meant === undefined && mayBeElsewhere ? [] : [unknownName(name, { kind: "an agent", meant })];
  });
}

function other(name: string, owner: string): Problem {
  const message = `names "${name}", but the hooks in an agent's definition run only for that agent, so the hook never runs for it.`;
  return { message, fix: `Use "${owner}", or remove the matcher.` };
}

function unknownName(name: string, { kind, meant }: { kind: string; meant: string | undefined }): Problem {
  const message = `names "${name}", which is not ${kind}, so the hook never runs for it.`;
  return { message, fix: meant === undefined ? `Use the name of ${kind}.` : `Did you mean ${meant}?` };
}

/** Detects a permission rule such as `Bash(git *)`, which would silently match nothing as a regular expression. */
function asRule(text: string, name: string, isSame: (left: string, right: string) => boolean): Match | undefined {
  const tool = /^(\w+)\(.*\)$/s.exec(text)?.[1];
  if (tool === undefined || !toolNames.includes(canonicalToolName(tool))) return undefined;
  const message = `("${text}") looks like a permission rule, so the hook runs for every ${tool} call.`;
  return isSame(tool, name)
    ? { holds: true, problem: { message, fix: "Use only the tool's name." } }
    : { holds: false };
}

/** Returns the name to compare for an event, with aliases resolved, and the function that compares it. */
function comparison(event: HookEvent, subject: string): [string, (left: string, right: string) => boolean] {
  if (isAboutAgents(event)) return [subject, isSameAgent];
  if (isAboutTools(event)) return [canonicalToolName(subject), (left, right) => canonicalToolName(left) === right];
  return [subject, (left, right) => left === right];
}

function isAboutAgents(event: HookEvent): boolean {
  return event === "SubagentStart" || event === "SubagentStop";
}

function isAboutTools(event: HookEvent): boolean {
  return event === "PreToolUse" || event === "PostToolUse" || event === "PermissionRequest";
}

const LONGEST_PATTERN = 1_000;
const LONGEST_NAME = 500;

/**
 * Tests whether a regular expression matches the whole name. An invalid or slow expression is treated as a match, and
 * the problem is reported.
 */
function testMatcher(pattern: string, name: string): Match {
  if (pattern.length > LONGEST_PATTERN || name.length > LONGEST_NAME)
    return { holds: true, problem: { message: "is too long to test, so the hook always runs.", fix: "Shorten it." } };
  const tested = testPattern(`^(?:${pattern})$`, { texts: [name], flags: "s" });
  if (tested.ok) return { holds: tested.matches[0] === true };
  if (tested.problem !== "invalid") {
    const message = `("${pattern}") takes too long to test, so the hook always runs.`;
    return { holds: true, problem: { message, fix: "Avoid nested repetitions." } };
  }
  const message = `("${pattern}") is not a valid regular expression, so the hook always runs.`;
  const fix = 'Use names ("Edit|Write") or a valid expression ("mcp__.*").';
  return { holds: true, problem: { message, fix } };
}
