import type { Rule } from "../../protocol/index.ts";
import { askAboutCall, type BegunCall } from "../approvals/ask-about-call.ts";
import type { ReadyAgent } from "./agent-wish.ts";

/** Asks once, before an agent works in the background, for what its definition lists. A no leaves each call to its rules. */
export async function preapprove(prepared: ReadyAgent, launch: BegunCall): Promise<ReadyAgent> {
  const { agent, grants = [] } = prepared;
  const { policy, agentType } = agent;
  const known = new Set(policy.rules.flatMap(({ effect, text }) => (effect === "allow" ? [text] : [])));
  const missing = grants.filter((rule) => !known.has(rule));
  if (missing.length === 0) return prepared;
  const reason = `${agentType} is to work in the background, and its definition lists ${missing.join(", ")}. Yes allows it that without further questions; no lets it start without.`;
  const concern = { kind: "launch", about: "launch", rule: "background.preapprove", reason, grants: missing } as const;
  if ((await askAboutCall(launch, concern))?.answer !== "allow") return prepared;
  const allowed = missing.map((text): Rule => ({ text, effect: "allow", scope: "session" }));
  return { ...prepared, agent: { ...agent, policy: { ...policy, rules: [...policy.rules, ...allowed] } } };
}
