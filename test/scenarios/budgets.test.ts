import { describe, expect, it } from "vitest";
import type { AgentBudget, Settings } from "../../src/protocol/index.ts";
import type { ScriptedStep } from "../../src/testing/index.ts";
import { open, type Place, resultsIn, task, walk } from "./delegation-place.ts";

const steps = (count: number): readonly ScriptedStep[] =>
  Array.from({ length: count }, (_, index) => ({ text: `Step ${index}.` }));

/** Runs a session with three requests: two from the main agent, and one from its subagent. */
async function firstCommand() {
  const walked = await walk({
    MAIN: [{ calls: [task("CHILD: look")] }, { text: "Done." }],
    CHILD: [{ text: "Seen." }],
  });
  expect(walked.result.outcome).toBe("succeeded");
  return walked;
}

async function secondCommand(at: Place & { readonly sessionId: string }, settings: Settings) {
  const { home, cwd, sessionId } = at;
  const main = [{ calls: [task("CHILD: look")] }, ...steps(2)];
  return walk({ MAIN: main, CHILD: steps(3) }, { at: { home, cwd }, resume: sessionId, settings });
}

describe("a resumed session", () => {
  it.each<[AgentBudget, string]>([
    [{ turns: 3 }, "3 requests used"],
    [{ tokens: 330 }, "330 tokens used"],
  ])("still counts earlier spending by itself and its agents: %o", async (budget, used) => {
    const { result, model } = await secondCommand(await firstCommand(), { budget });
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget", turns: 0 });
    expect(result.message).toContain(used);
    expect(model.requests("MAIN")).toHaveLength(0);
  });

  it("continues with the rest of its budget", async () => {
    const { result, model } = await secondCommand(await firstCommand(), { budget: { turns: 5 } });
    expect(result).toMatchObject({ outcome: "incomplete", reason: "budget" });
    expect(model.requests("MAIN")).toHaveLength(1);
    expect(model.requests("CHILD")).toHaveLength(1);
  });

  it("still counts the agents that it started, but the limit per prompt starts over", async () => {
    const first = await firstCommand();
    const { updates, result } = await secondCommand(first, { budget: { spawns: 1 } });
    expect(JSON.stringify(updates)).toContain("1 agent used");
    expect(result.outcome).toBe("incomplete");
    const other = await secondCommand(await firstCommand(), { subagents: { maxSpawns: 1 } });
    expect(other.result.outcome).toBe("succeeded");
  });
});

describe("a resumed agent", () => {
  const planner = (budget: AgentBudget) => ({
    settings: { subagents: { maxDepth: 2 } },
    agents: { planner: { description: "Plans. Use it.", prompt: "Plan.", tools: ["Task"], budget } },
  });
  const first = { calls: [task("PLAN: it", { subagent_type: "planner", name: "Planner" })] };
  const again = { calls: [task("More.", { subagent_type: undefined, resume: "Planner" })] };

  it.each<[AgentBudget, string]>([
    [{ turns: 4 }, "the limit is 4 requests (4 requests used, 0 requests left)"],
    [{ tokens: 440 }, "440 tokens used"],
  ])("still counts earlier spending by itself and its own agents: %o", async (budget, used) => {
    const plan = [{ calls: [task("CHILD: look")] }, ...steps(2)];
    const { home, cwd, sessionId, result } = await walk(
      { MAIN: [first, again, { text: "Well." }], PLAN: plan, CHILD: steps(1) },
      planner(budget.turns === undefined ? {} : budget),
    );
    expect(result).toMatchObject({ outcome: "succeeded", facts: { agentsCut: 0 } });
    const options = { at: { home, cwd }, resume: sessionId, ...planner(budget) };
    const { model } = await walk({ MAIN: [again, { text: "So be it." }], PLAN: steps(1) }, options);
    expect(model.requests("PLAN")).toHaveLength(0);
    const [told = ""] = resultsIn(model.requests("MAIN").at(-1));
    expect(told).toContain(used);
    expect(told).toMatch(
      /\[This is the agent's own budget, .*give what is missing to a new agent as a smaller task.*\]$/,
    );
    expect(told).not.toMatch(/definition|settings/);
  });
});

it("an agent that is stopped while another one has reserved the rest of the budget is reported as stopped, not refused", async () => {
  const waiting: ScriptedStep[] = [{ text: "One.", hangs: true }];
  const { session } = await open(
    { MAIN: [{ calls: [task("ONE: a"), task("TWO: b")] }], ONE: waiting, TWO: waiting },
    { settings: { budget: { tokens: 11_000 } } },
  );
  const run = session.prompt("MAIN: do it.");
  const seen: string[] = [];
  for await (const update of run) {
    if (update.type !== "subagent.event") continue;
    const { event } = update;
    if (event.type === "run.ended") seen.push(event.reason);
    if (event.type === "run.continued") seen.push(event.type);
    if (event.type !== "run.delayed") continue;
    seen.push(`delayed by ${event.by}`);
    run.stop("interrupted");
  }
  await session.close();
  expect(seen[0]).toBe("delayed by budget");
  expect(seen.slice(1).sort()).toEqual(["interrupted", "interrupted", "run.continued"]);
});
