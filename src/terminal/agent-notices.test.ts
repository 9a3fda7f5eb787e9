import { describe, expect, it } from "vitest";
import { answered, created, runEnded, started } from "../client/view/agent-events.test-support.ts";
import { openTestTerminal, type TestTerminal } from "./terminal.test-support.ts";

describe("notices about background agents that have ended", () => {
  it("are printed one by one if there are few, and combined if there are many", async () => {
    const terminal = await openTestTerminal();
    await endTogether(terminal, 40);
    await terminal.waitFor("37 more agents have ended: 37 succeeded. The main agent gets their reports");
    expect(terminal.printed.match(/succeeded; the main agent gets its report/g)).toHaveLength(3);
  });

  it("are all printed before the terminal is closed", async () => {
    const terminal = await openTestTerminal();
    await endTogether(terminal, 5);
    await terminal.waitFor("succeeded; the main agent gets its report");
    terminal.press("ctrl-d");
    await expect.poll(() => terminal.closed).toEqual(["stop"]);
    expect(terminal.printed).toContain("2 more agents have ended: 2 succeeded.");
  });
});

/** Starts background agents, and ends all of them at the same time. */
async function endTogether(terminal: TestTerminal, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `a${String(index).padStart(12, "0")}`);
  for (const id of ids) {
    terminal.happen(created([id]), id);
    terminal.happen(started({ background: true }), id);
  }
  await terminal.waitFor(`${count} working`);
  for (const id of ids) terminal.happen(runEnded(), id);
}

describe("a subagent's request that the user answers by editing the call", () => {
  it("is reported once, although the edited call is a request of its own", async () => {
    const id = "a000000000001";
    const terminal = await openTestTerminal();
    const input = (command: string): string => JSON.stringify({ command });
    const ask = (requestId: string, command: string): void => {
      const call = { callId: "c0", name: "Bash", inputJson: input(command) };
      terminal.happen({ type: "approval.requested", requestId, ...call, reason: "no rule", always: [] }, id);
    };
    const allow = (requestId: string, inputJson?: string): void => {
      const answer = { callId: "c0", answer: "allow", by: "me" } as const;
      terminal.happen({ type: "approval.answered", requestId, ...answer, inputJson }, id);
    };
    terminal.happen(created([id]), id);
    terminal.happen(started({ background: true }), id);
    terminal.happen(answered("", [{ name: "Bash", input: { command: "touch a" } }]), id);
    ask("ask_1", "touch a");
    allow("ask_1", input("touch b"));
    ask("ask_2", "touch b");
    allow("ask_2");
    terminal.happen(runEnded(), id);
    await terminal.waitFor("succeeded; the main agent gets its report");
    expect(terminal.printed.match(/you edited and allowed it; before: touch a/g)).toHaveLength(1);
  });
});
