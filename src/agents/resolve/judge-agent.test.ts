import { expect, it } from "vitest";
import type { Effect, Rule } from "../../protocol/index.ts";
import { judgeAgent } from "./resolve-subagent.ts";

const rule = (text: string, effect: Effect, form?: "compact"): Rule =>
  form === undefined ? { text, effect, scope: "user" } : { text, effect, scope: "user", form };

it.each<[readonly Rule[], string, Effect]>([
  [[], "reviewer", "allow"],
  [[rule("Task(reviewer)", "deny")], "reviewer", "deny"],
  [[rule("Agent(Reviewer)", "deny")], "reviewer", "deny"],
  [[rule("Task(explore)", "deny")], "Explore", "deny"],
  [[rule("Task(team:*)", "deny")], "team:helper", "deny"],
  [[rule("Task(team:*)", "deny")], "helper", "allow"],
  [[rule("Task", "deny")], "reviewer", "deny"],
  [[rule("Task(reviewer)", "ask")], "reviewer", "ask"],
  [[rule("Task", "ask")], "reviewer", "ask"],
  [[rule("Task(model:opus)", "deny")], "reviewer", "allow"],
])("applies rules to delegation: %j, %s", (rules, agentType, effect) => {
  expect(judgeAgent(agentType, { rules }).effect).toBe(effect);
  const above = { rules: [], layers: [{ rules }] };
  if (effect === "deny") expect(judgeAgent(agentType, above).effect).toBe("deny");
});
