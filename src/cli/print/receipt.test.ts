import { describe, expect, it } from "vitest";
import { created, runEnded, started, told } from "../progress/agent-events.test-support.ts";
import { createAgentViews } from "../progress/agent-views.ts";
import { interruptWords, receiptOf } from "./receipt.ts";

function household(count: number, end?: Parameters<typeof runEnded>[0]) {
  const views = createAgentViews();
  for (let index = 0; index < count; index++) {
    const path = [`a${index}`];
    for (const event of [created(path), started(index % 2 === 1 ? { background: true } : {})]) {
      views.see(told(path, event), 0);
    }
    if (end) views.see(told(path, runEnded(end)), 0);
  }
  return views.inOrder();
}

describe("what Ctrl+C says", () => {
  it("names whom it interrupts and what goes on until the end of the program", () => {
    expect(interruptWords([])).toBe("Interrupting the main agent. Ctrl+C again ends at once.");
    expect(interruptWords(household(2))).toContain("and 1 agent it waits for; 1 agent in the background ends with");
    expect(interruptWords(household(5))).toContain("and 3 agents it waits for; 2 agents in the background end with");
  });

  it("lists what stopped, not too much of it, and says whether anything is left", () => {
    expect(receiptOf(household(2, {}))).toEqual([]);
    const receipt = receiptOf(household(12, { outcome: "stopped", reason: "interrupted" }));
    expect(receipt[0]).toBe("Stopped with the main agent: 12 agents.");
    expect(receipt[1]).toBe("  stopped: Explore find the router, after 1 turn (a0)");
    expect(receipt.slice(-2)).toEqual(["  … and 2 more", "  Nothing is left running."]);
    expect(receiptOf(household(1))).toEqual([
      "Stopped with the main agent: 0 agents.",
      "  no end recorded: Explore find the router (a0)",
    ]);
  });
});
