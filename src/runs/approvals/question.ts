import { createHash } from "node:crypto";
import { accesses, alwaysPatterns, suggestRule } from "../../permissions/index.ts";
import {
  type ApprovalQuestion,
  canonicalToolName,
  type JsonObject,
  type Policy,
  type ToolCall,
} from "../../protocol/index.ts";
import { inputOf } from "../calls/decide-call.ts";
import type { RunHost, RunServices } from "../host/run-host.ts";

/** The same for the same call with the same input, in whatever process: it is asked about once. */
export function requestIdOf(
  { sessionId, agentId }: Pick<ApprovalQuestion, "sessionId" | "agentId">,
  call: ToolCall,
): Pick<ApprovalQuestion, "requestId" | "inputHash"> {
  const inputHash = hash([call.name, call.inputJson]);
  return { requestId: `ask_${hash([sessionId, agentId, call.callId, inputHash]).slice(0, 12)}`, inputHash };
}

interface Asked extends Asker, Pick<ApprovalQuestion, "call" | "decision"> {
  readonly policy: Policy;
  readonly executor: RunServices["executor"];
}

/** What somebody is asked about a call. */
export async function questionAbout({ policy, executor, ...asked }: Asked): Promise<ApprovalQuestion> {
  const { call } = asked;
  const always: string[] = [];
  for (const rule of (await isAllowed(policy)) ? [] : alwaysRules(call)) {
    const widened: Policy = { ...policy, rules: [...policy.rules, { text: rule, effect: "allow", scope: "session" }] };
    if (await isAllowed(widened)) always.push(rule);
  }
  return { ...requestIdOf(asked, call), kind: "call", ...asked, always };

  /** Where rules allow it already a hook wants it to be asked, and no rule changes that. */
  async function isAllowed(rules: Policy): Promise<boolean> {
    return (await ruleAllowing(call, { executor, policy: rules })) !== undefined;
  }
}

interface Changed extends Pick<Asked, "executor" | "policy"> {
  readonly now: Policy;
}

/** The rule that has come to allow a call. What rules allowed before is asked about because a hook wants that. */
export async function ruleSettling(call: ToolCall, { executor, policy, now }: Changed): Promise<string | undefined> {
  if ((await ruleAllowing(call, { executor, policy })) !== undefined) return undefined;
  return ruleAllowing(call, { executor, policy: now });
}

async function ruleAllowing(
  call: ToolCall,
  { executor, policy }: Pick<Asked, "executor" | "policy">,
): Promise<string | undefined> {
  const judged = await executor.judge(call, policy);
  return judged.kind === "decided" && judged.decision.effect === "allow" ? judged.decision.rule : undefined;
}

function hash(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Who wants to know. */
export type Asker = Pick<ApprovalQuestion, "sessionId" | "agentId" | "agentType" | "path" | "background">;

export function askerOf({ services, thread: { agentId }, request }: RunHost): Asker {
  const { sessionId, retinue } = services;
  const { agent, subagent } = request;
  const background = retinue?.registry.isInBackground(agentId) ? { background: true as const } : {};
  return { sessionId, agentId, agentType: agent.agentType, path: subagent?.path ?? [], ...background };
}

/**
 * What "always" could mean for a call that was decided about: first the rule for it alone, then one for more of its kind
 * where that is no risk.
 */
function alwaysRules(call: ToolCall): readonly string[] {
  const tool = canonicalToolName(call.name);
  const input = inputOf(call) as JsonObject;
  const command = accesses(tool, input).find((access) => access.kind === "command")?.command;
  if (command !== undefined) {
    const { exact, pattern } = alwaysPatterns(command);
    return [`Bash(${exact})`, ...(pattern === undefined ? [] : [`Bash(${pattern})`])];
  }
  const rule = suggestRule(tool, input);
  return rule === undefined ? [] : [rule];
}
