import type { Rule } from "../../protocol/index.ts";
import { askAboutCall, type BegunCall, type Concern } from "../approvals/ask-about-call.ts";
import type { Budget, BudgetRefusal } from "../budget/budget.ts";
import type { PreparedAgent } from "./prepare.ts";

/** Asks a person about a call that has begun. Returns undefined if no one can be asked. */
type Ask = (concern: Concern) => Promise<{ readonly answer: string } | undefined>;

/** Counts agents before they start. When one prompt starts too many, a person may allow as many again. */
export class SpawnGate {
  private asksForMore: Promise<boolean> | undefined;

  async enter(budget: Budget, ask: Ask): Promise<BudgetRefusal | undefined> {
    const refusal = budget.spawn();
    if (refusal?.limit !== "promptSpawns") return refusal;
    // Several calls of one answer are one question.
    this.asksForMore ??= askForMore(refusal, budget, ask).finally(() => {
      this.asksForMore = undefined;
    });
    return (await this.asksForMore) ? this.enter(budget, ask) : refusal;
  }
}

async function askForMore({ message }: BudgetRefusal, budget: Budget, ask: Ask): Promise<boolean> {
  const reason = `${message} Yes lets this prompt start as many again.`;
  const answer = await ask({ kind: "call", about: "spawns", rule: "subagents.maxSpawns", reason });
  if (answer?.answer !== "allow") return false;
  budget.resetSpawns();
  return true;
}

/** Asks once, before an agent works in the background, for what its definition lists. A no leaves each call to its rules. */
export async function preapprove(prepared: PreparedAgent, launch: BegunCall): Promise<PreparedAgent> {
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
