import type { Hands, Judgement } from "../ports/index.ts";
import { canonicalToolName, type Decision, type Policy, type Rule, type ToolCall } from "../protocol/index.ts";

/**
 * Hands that refuse what lies outside an agent's limits (`tools: Bash(git:*)`), whatever rules, modes and people say.
 * Whether a call lies within is asked of the hands themselves, under a policy that allows nothing but the limits.
 */
export function limitHands(hands: Hands, limits: readonly Rule[]): Hands {
  if (limits.length === 0) return hands;
  const outside = async (call: ToolCall, policy: Policy): Promise<Decision | undefined> => {
    const tool = canonicalToolName(call.name);
    const own = limits.filter(({ text }) => toolOf(text) === tool);
    if (own.length === 0) return undefined;
    const judged = await hands.judge(call, probe(policy, { tool, own }));
    return judged.kind === "decided" && judged.decision.effect !== "allow" ? refusal(tool, own) : undefined;
  };
  return {
    ...hands,
    judge: async (call, policy): Promise<Judgement> => {
      const judged = await hands.judge(call, policy);
      if (judged.kind === "invalid" || judged.decision.effect === "deny") return judged;
      const decision = await outside(call, policy);
      return decision === undefined
        ? judged
        : { ...judged, decision, denial: `${call.name} was not run. ${decision.reason}` };
    },
    execute: async (request, emit, signal) => {
      const decision = await outside(request.call, request.policy);
      if (decision === undefined) return hands.execute(request, emit, signal);
      return { outcome: "denied", content: [{ type: "text", text: decision.reason }] };
    },
  };
}

/** Under it a call is allowed if and only if the limits cover all that it touches: only a session's word answers an ask. */
function probe(policy: Policy, { tool, own }: { readonly tool: string; readonly own: readonly Rule[] }): Policy {
  const everything: Rule = { text: tool, effect: "ask", scope: "builtin" };
  const limits = own.map(({ text }): Rule => ({ text, effect: "allow", scope: "session" }));
  return { ...policy, mode: "dontAsk", pool: [tool], rules: [everything, ...limits], readableRoots: [] };
}

function refusal(tool: string, own: readonly Rule[]): Decision {
  const texts = own.map(({ text }) => text).join(", ");
  const reason = `This agent has ${tool} only for ${texts}. One simple command or path that fits is what it can use.`;
  return { effect: "deny", rule: texts, scope: own[0]?.scope ?? "builtin", reason };
}

function toolOf(text: string): string {
  return canonicalToolName(text.slice(0, text.indexOf("(")).trim());
}
