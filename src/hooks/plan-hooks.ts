import { canonicalToolName, type HookEvent, isSameAgent, toolNames } from "../protocol/index.ts";
import { type Hook, nameOf } from "./hook.ts";
import { testPattern } from "./test-pattern.ts";

export interface HookPlan {
  readonly hooks: readonly Hook[];
  /** What the person should know about their matchers. */
  readonly notices: readonly string[];
}

/** Which hooks an occasion concerns. `subject` is what its matchers are about: a tool, an agent type, a kind of start. */
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
  readonly problem?: string;
}

/** A matcher that can't be used holds: what guards must not stand aside because of a typing error. */
function matches(matcher: string | undefined, event: HookEvent, subject: string | undefined): Match {
  const text = matcher?.trim() ?? "";
  if (text === "" || text === "*" || subject === undefined) return { holds: true };
  const [name, isSame] = comparison(event, subject);
  if (/^[\w\s,|-]+$/.test(text)) return { holds: text.split(/[|,]/).some((each) => isSame(each.trim(), name)) };
  return asRule(text, name, isSame) ?? testPattern(text, name);
}

/** `Bash(git *)` is a rule's word; as a regular expression it would match nothing, and nobody would know. */
function asRule(text: string, name: string, isSame: (left: string, right: string) => boolean): Match | undefined {
  const tool = /^(\w+)\(.*\)$/s.exec(text)?.[1];
  if (tool === undefined || !toolNames.includes(canonicalToolName(tool))) return undefined;
  const problem = `(${text}) is written like a permission rule: the hook runs for every ${tool}. Write the name alone.`;
  return isSame(tool, name) ? { holds: true, problem } : { holds: false };
}

/** Names are compared as everywhere else: aliases count. */
function comparison(event: HookEvent, subject: string): [string, (left: string, right: string) => boolean] {
  if (event === "SubagentStart" || event === "SubagentStop") return [subject, isSameAgent];
  if (event === "PreToolUse" || event === "PostToolUse" || event === "PermissionRequest")
    return [canonicalToolName(subject), (left, right) => canonicalToolName(left) === right];
  return [subject, (left, right) => left === right];
}
