import { describe, expect, it } from "vitest";
import { created, fromAgent, runEnded, started } from "../../client/view/agent-events.test-support.ts";
import type { RunEnd, RunResult, SessionId } from "../../protocol/index.ts";
import { createAgentViews } from "../progress/agent-views.ts";
import {
  acceptanceFailure,
  closingMessage,
  incompleteLines,
  interruptMessage,
  resumePrompt,
  stoppedLines,
} from "./closing-message.ts";

function endedAgents(count: number, end: Partial<RunEnd>, above: readonly string[] = []) {
  const views = createAgentViews();
  for (let index = 0; index < count; index++) {
    const path = [...above, `a${index}`];
    for (const event of [created(path), started(), runEnded(end)]) views.observe(fromAgent(path, event));
  }
  return views.inOrder();
}

const cut = { outcome: "incomplete", reason: "max_turns" } as const;

describe("agents that did not finish", () => {
  it("are listed with the reason and advice", () => {
    expect(incompleteLines(endedAgents(1, cut), 1)).toEqual([
      "Explore find the router (a0) was cut short after 1 turn: it reached its turn limit. To raise it, set maxTurns in the definition of Explore.",
    ]);
    const [late] = incompleteLines(endedAgents(1, { ...cut, reason: "timeout" }), 1);
    expect(late).toContain("subagents.timeoutSeconds");
    const behind = endedAgents(1, { ...cut, reason: "timeout" }).map((agent) => ({ ...agent, background: true }));
    expect(incompleteLines(behind, 1)[0]).toContain("background.waitSeconds");
    const message = "The session can't continue: the limit is $1.00. To raise it, use --max-cost.";
    expect(incompleteLines(endedAgents(1, { ...cut, reason: "budget", message }), 1)[0]).toContain(
      `1 turn: ${message}`,
    );
    expect(incompleteLines(endedAgents(1, { ...cut, reason: "stall" }), 1)[0]).toContain("its model sent nothing");
    expect(incompleteLines(endedAgents(2, { outcome: "failed", reason: "model_error" }), 0)).toEqual([]);
  });

  it("are only counted if they have continued since, or if there are too many to list", () => {
    expect(incompleteLines(endedAgents(2, {}), 1)).toEqual(["1 agent had been cut short earlier."]);
    expect(incompleteLines(endedAgents(12, cut), 12).at(-1)).toBe("  … and 2 more");
  });

  it("can be resumed through the main agent that started them", () => {
    expect(resumePrompt(endedAgents(1, cut))).toBe("Resume agent a0.");
    expect(resumePrompt(endedAgents(2, cut))).toBe("Resume the agents a0, a1.");
    expect(resumePrompt(endedAgents(4, cut))).toBe("Resume the agents that were cut short.");
    expect(resumePrompt(endedAgents(1, {}))).toBeUndefined();
    expect(resumePrompt(endedAgents(1, cut, ["a9"]))).toBeUndefined();
  });
});

it("leaves out the limit that ended the run in the command that continues it", () => {
  const result = { ...runEnded(cut), text: "", facts: { agentsCut: 0 } } as unknown as RunResult;
  const repeated = "--max-turns 1 --trust";
  const context = { sessionId: "01ab" as SessionId, repeated, agents: [], wasReported: () => false };
  expect(closingMessage(result, context)).toContain("To continue: retinue -p --resume 01ab --max-turns … --trust\n");
});

function someAgents(count: number, end?: Parameters<typeof runEnded>[0]) {
  const views = createAgentViews();
  for (let index = 0; index < count; index++) {
    const path = [`a${index}`];
    for (const event of [created(path), started(index % 2 === 1 ? { background: true } : {})]) {
      views.observe(fromAgent(path, event));
    }
    if (end) views.observe(fromAgent(path, runEnded(end)));
  }
  return views.inOrder();
}

describe("the message after Ctrl+C", () => {
  it("counts the agents that are interrupted, and those that continue until the program ends", () => {
    expect(interruptMessage([])).toBe("Interrupting the main agent. Press Ctrl+C again to quit immediately.");
    expect(interruptMessage(someAgents(2))).toContain(
      "and 1 agent that it is waiting for; 1 agent in the background ends with",
    );
    expect(interruptMessage(someAgents(5))).toContain(
      "and 3 agents that it is waiting for; 2 agents in the background end with",
    );
  });

  it("lists a limited number of stopped agents, and says whether anything is still running", () => {
    expect(stoppedLines(someAgents(2, {}))).toEqual([]);
    const receipt = stoppedLines(someAgents(12, { outcome: "stopped", reason: "interrupted" }));
    expect(receipt[0]).toBe("12 agents stopped together with the main agent.");
    expect(receipt[1]).toBe("  stopped: Explore find the router, after 1 turn (a0)");
    expect(receipt.slice(-2)).toEqual(["  … and 2 more", "  Nothing is left running."]);
    expect(stoppedLines(someAgents(1))).toEqual([
      "0 agents stopped together with the main agent.",
      "  no end recorded: Explore find the router (a0)",
    ]);
  });
});

it.each([
  [{ verdict: "fail" as const }, "Verification found problems."],
  [{ verdict: "inconclusive" as const }, "Verification reached no verdict."],
  [{ exitCode: 1 }, '"Verification" ended with exit code 1.'],
])("explains a failed acceptance check: %j", (more, expected) => {
  const result = { command: "Verification", ok: false, exitCode: null, output: "", ...more };
  expect(acceptanceFailure(result)).toBe(`The work is not verified: ${expected}`);
});
