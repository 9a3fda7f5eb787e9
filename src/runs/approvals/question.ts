import { inputOf } from "../../loop/index.ts";
import { accesses, alwaysPatterns, suggestRule } from "../../permissions/index.ts";
import { type ApprovalQuestion, canonicalToolName, type Policy, type ToolCall } from "../../protocol/index.ts";
import type { RunHost, RunServices } from "../host/run-host.ts";
import { questionsIn } from "../tools/ask-user-question.ts";
import { requestIdOf } from "./approval-queue.ts";

/** The agent that asks for approval. */
export type Asker = Pick<ApprovalQuestion, "sessionId" | "agentId" | "agentType" | "path" | "background">;

export function askerOf({ services, thread: { agentId }, request }: RunHost): Asker {
  const { sessionId, retinue } = services;
  const { agent, subagent } = request;
  const background = retinue?.registry.isInBackground(agentId) ? true : undefined;
  return { sessionId, agentId, agentType: agent.agentType, path: subagent?.path ?? [], background };
}

interface QuestionSubject extends Asker, Pick<ApprovalQuestion, "call" | "decision"> {
  readonly policy: Policy;
  readonly executor: RunServices["executor"];
}

/** Creates the question about a call, with the rules that an "always" answer can add. */
export async function questionAbout({ policy, executor, ...subject }: QuestionSubject): Promise<ApprovalQuestion> {
  const { call } = subject;
  const always: string[] = [];
  for (const rule of (await isAllowed(policy)) ? [] : alwaysRules(call)) {
    const extended: Policy = { ...policy, rules: [...policy.rules, { text: rule, effect: "allow", scope: "session" }] };
    if (await isAllowed(extended)) always.push(rule);
  }
  const questions = questionsIn(call);
  const kind = questions === undefined ? "call" : "question";
  return { ...requestIdOf(subject, call), kind, ...subject, always, questions };

  /**
   * Returns whether the given policy allows the call. If the current policy already allows it, a hook asked for
   * approval, and a new rule would not change that.
   */
  async function isAllowed(rules: Policy): Promise<boolean> {
    return (await ruleAllowing(call, { executor, policy: rules })) !== undefined;
  }
}

interface ChangedPolicy extends Pick<QuestionSubject, "executor" | "policy"> {
  readonly now: Policy;
}

/**
 * Returns the new rule that allows the call. Returns undefined if rules already allowed the call when the question was
 * asked. In that case, a hook asked for approval, and no rule can answer the question.
 */
export async function ruleSettling(
  call: ToolCall,
  { executor, policy, now }: ChangedPolicy,
): Promise<string | undefined> {
  if ((await ruleAllowing(call, { executor, policy })) !== undefined) return undefined;
  return ruleAllowing(call, { executor, policy: now });
}

async function ruleAllowing(
  call: ToolCall,
  { executor, policy }: Pick<QuestionSubject, "executor" | "policy">,
): Promise<string | undefined> {
  const judged = await executor.judge(call, policy);
  return judged.kind === "decided" && judged.decision.effect === "allow" ? judged.decision.rule : undefined;
}

/** Suggests rules for an "always" answer: first a rule for exactly this call, then a wider rule if that is safe. */
function alwaysRules(call: ToolCall): readonly string[] {
  const tool = canonicalToolName(call.name);
  const input = inputOf(call);
  const command = accesses(tool, input).find((access) => access.kind === "command")?.command;
  if (command !== undefined) {
    const { exact, pattern } = alwaysPatterns(command);
    return [`Bash(${exact})`, ...(pattern === undefined ? [] : [`Bash(${pattern})`])];
  }
  const rule = suggestRule(tool, input);
  return rule === undefined ? [] : [rule];
}
