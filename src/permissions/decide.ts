import {
  type Access,
  canonicalToolName,
  type Decision,
  type Effect,
  isSameAgent,
  type Policy,
  type ResolvedPath,
} from "../protocol/index.ts";
import { hasKnownAccesses } from "./accesses.ts";
import { type CompiledPolicy, compilePolicy } from "./compile-policy.ts";
import { hostOf, matchDomain } from "./domain-pattern.ts";
import { asDecision, builtin, byRule, type Finding, type Touch } from "./finding.ts";
import { judgeCommand } from "./judge-command.ts";
import { judgePath } from "./judge-path.ts";

export interface DecideRequest {
  readonly toolName: string;
  readonly accesses: readonly Access[];
  /** One for each of `pathsOf(accesses)`, in that order. */
  readonly resolved: readonly ResolvedPath[];
  readonly policy: Policy;
  /** The user's home directory where the tools run, as spelled and as resolved, for rules with `~/`. */
  readonly homes?: readonly string[];
}

/** Pure and total: the strictest decision over everything the call would touch. */
export function decide({ toolName, accesses, resolved, policy, homes }: DecideRequest): Decision {
  const compiled = compilePolicy(policy, homes);
  const name = canonicalToolName(toolName);
  if (!compiled.pool.has(name)) {
    return asDecision(builtin("deny", "not in pool", `This agent does not have the tool ${name}.`), "deny");
  }
  if (accesses.length === 0) return applyMode(judgeUndescribed(name, compiled), compiled);
  let strictest: Decision | undefined;
  let path = 0;
  for (const access of accesses) {
    const place = "path" in access ? resolved[path++] : undefined;
    const decision = applyMode(judgeAccess({ toolName: name, access, place }, compiled), compiled);
    if (strictest === undefined || severity[decision.effect] > severity[strictest.effect]) strictest = decision;
  }
  return strictest!;
}

const severity: Record<Effect, number> = { allow: 0, ask: 1, deny: 2 };

function judgeAccess(touch: Touch, compiled: CompiledPolicy): Finding {
  const { access, toolName } = touch;
  switch (access.kind) {
    case "write":
      if (compiled.policy.mode === "plan") return builtin("deny", "plan", "Mode plan changes no files.");
      return judgePath(touch, access, compiled);
    case "read":
    case "search":
      return judgePath(touch, access, compiled);
    case "command":
      return judgeCommand(toolName, access.command, compiled);
    case "network":
      return judgeNetwork(toolName, access.url, compiled);
    case "agent":
      return judgeAgent(toolName, access.agentType, compiled);
    case "internal":
      return (
        judgeWhole(toolName, compiled) ?? builtin("allow", "internal", `${toolName} touches nothing outside the agent.`)
      );
  }
}

function judgeNetwork(toolName: string, url: string, compiled: CompiledPolicy): Finding {
  const host = hostOf(url);
  if (host === undefined) return builtin("deny", "malformed address", "Only http and https addresses can be fetched.");
  const covers = ({ coversTool, target }: CompiledPolicy["deny"][number]) =>
    coversTool(toolName) && (target.kind === "whole" || (target.kind === "domain" && matchDomain(target.pattern, url)));
  return byLists(compiled, covers, host) ?? builtin("open", "network", `No rule allows fetching from ${host}.`);
}

/** Delegating is open to who has the tool; what the agent does is judged call by call. */
function judgeAgent(toolName: string, agentType: string, compiled: CompiledPolicy): Finding {
  const covers = ({ coversTool, target }: CompiledPolicy["deny"][number]) =>
    coversTool(toolName) &&
    (target.kind === "whole" || (target.kind === "agent" && isSameAgent(target.agentType, agentType)));
  return byLists(compiled, covers, agentType) ?? builtin("allow", "agent", "Work may be given to this agent.");
}

/** Tools whose accesses nobody wrote down: only a rule about the whole tool can allow them. */
function judgeUndescribed(toolName: string, compiled: CompiledPolicy): Finding {
  if (hasKnownAccesses(toolName)) {
    return builtin("deny", "unusable input", `The input of ${toolName} does not say what it would touch.`);
  }
  const found = judgeWhole(toolName, compiled);
  if (found?.effect === "allow" || found?.effect === "deny") return found;
  if (compiled.policy.mode === "plan" && toolName !== "WebSearch") {
    return builtin("deny", "plan", `Mode plan uses ${toolName} only where a rule allows it.`);
  }
  return found ?? builtin("open", "tool", `No rule allows ${toolName}.`);
}

function judgeWhole(toolName: string, compiled: CompiledPolicy): Finding | undefined {
  return byLists(compiled, ({ coversTool, target }) => target.kind === "whole" && coversTool(toolName), toolName);
}

/** Deny, then ask, then allow; only what a person allowed for this session answers an ask. */
function byLists(
  compiled: CompiledPolicy,
  covers: (rule: CompiledPolicy["deny"][number]) => boolean,
  what: string,
): Finding | undefined {
  const denied = compiled.deny.find(covers);
  if (denied !== undefined) return byRule(denied, what);
  const session = compiled.allow.find((rule) => rule.rule.scope === "session" && covers(rule));
  const decided = session ?? compiled.ask.find(covers) ?? compiled.allow.find(covers);
  return decided === undefined ? undefined : byRule(decided, what);
}

function applyMode(finding: Finding, { policy }: CompiledPolicy): Decision {
  const { effect, reason } = finding;
  if (effect === "allow" || effect === "deny") return asDecision(finding, effect);
  if (policy.mode === "dontAsk")
    return asDecision(finding, "deny", `${reason} Mode dontAsk denies what would have to be asked.`);
  if (effect === "open" && policy.mode === "bypassPermissions") {
    return {
      effect: "allow",
      rule: "bypassPermissions",
      scope: "builtin",
      reason: "Mode bypassPermissions allows what no rule restricts.",
    };
  }
  return asDecision(finding, "ask");
}
