import { describe, expect, it } from "vitest";
import type { RunEnd } from "../../protocol/index.ts";
import { created, runEnded, started, told } from "../progress/agent-events.test-support.ts";
import { createAgentViews } from "../progress/agent-views.ts";
import { cutWords, goOnPrompt } from "./closing-message.ts";

function household(count: number, end: Partial<RunEnd>, above: readonly string[] = []) {
  const views = createAgentViews();
  for (let index = 0; index < count; index++) {
    const path = [...above, `a${index}`];
    for (const event of [created(path), started(), runEnded(end)]) views.see(told(path, event), 0);
  }
  return views.inOrder();
}

const cut = { outcome: "incomplete", reason: "max_turns" } as const;

describe("agents that did not get done", () => {
  it("are named with the reason and what to change", () => {
    expect(cutWords(household(1, cut), 1)).toEqual([
      "Explore find the router (a0) was cut short after 1 turn: it reached its limit of turns. To raise it, set maxTurns in the definition of Explore.",
    ]);
    const [late] = cutWords(household(1, { ...cut, reason: "timeout" }), 1);
    expect(late).toContain("subagents.timeoutSeconds");
    const behind = household(1, { ...cut, reason: "timeout" }).map((agent) => ({ ...agent, background: true }));
    expect(cutWords(behind, 1)[0]).toContain("background.waitSeconds");
    const message = "The session may not go on: the limit is $1.00. To raise it, use --max-cost.";
    expect(cutWords(household(1, { ...cut, reason: "budget", message }), 1)[0]).toContain(`1 turn: ${message}`);
    expect(cutWords(household(1, { ...cut, reason: "stall" }), 1)[0]).toContain("its model said nothing");
    expect(cutWords(household(2, { outcome: "failed", reason: "model_error" }), 0)).toEqual([]);
  });

  it("are counted where they had gone on since, or are too many to list", () => {
    expect(cutWords(household(2, {}), 1)).toEqual(["1 agent had been cut short on the way."]);
    expect(cutWords(household(12, cut), 12).at(-1)).toBe("  … and 2 more");
  });

  it("go on by words to the main agent, which knows those that work for itself", () => {
    expect(goOnPrompt(household(1, cut))).toBe("Go on with agent a0.");
    expect(goOnPrompt(household(2, cut))).toBe("Go on with the agents a0, a1.");
    expect(goOnPrompt(household(4, cut))).toBe("Go on with the agents that were cut short.");
    expect(goOnPrompt(household(1, {}))).toBeUndefined();
    expect(goOnPrompt(household(1, cut, ["a9"]))).toBeUndefined();
  });
});
