import { describe, expect, it } from "vitest";
import { created, started } from "../../client/view/agent-events.test-support.ts";
import { openTestTerminal, type TestOptions, type TestTerminal } from "../terminal.test-support.ts";

const ids = ["a000000000001", "a000000000002", "a000000000003", "a000000000004"];

/** Opens the list of agents. Every other agent has "even" in its task. */
async function openAgents(options: TestOptions = {}): Promise<TestTerminal> {
  const terminal = await openTestTerminal(options);
  terminal.happen(started());
  for (const [index, agentId] of ids.entries()) {
    terminal.happen(created([agentId], `part ${index + 1} ${index % 2 === 1 ? "even" : "odd"}`), agentId);
    terminal.happen(started(), agentId);
  }
  await terminal.waitFor("↓ agents");
  terminal.press("down");
  terminal.press("home");
  return terminal;
}

describe("the list of agents", () => {
  it("selects the agent whose transcript was shown last when the transcript is closed", async () => {
    const terminal = await openAgents();
    expect(terminal.frame()).toMatch(/^› ● Explore part 1/m);
    terminal.press("enter", "right", "right");
    expect(terminal.frame()).toContain("main › Explore  part 3");
    terminal.press("esc");
    expect(terminal.frame()).toMatch(/^› ● Explore part 3/m);
  });

  it("moves only between transcripts of agents that match the filter", async () => {
    const terminal = await openAgents();
    terminal.type("/");
    terminal.type("even");
    terminal.press("enter", "enter");
    expect(terminal.frame()).toContain("main › Explore  part 2");
    terminal.press("right");
    expect(terminal.frame()).toContain("main › Explore  part 4");
    terminal.press("right", "esc");
    expect(terminal.frame()).toMatch(/^› ● Explore part 4/m);
  });

  it("shows at least the selected agent on a screen that has no room for more", async () => {
    const terminal = await openAgents({ rows: 7 });
    terminal.press("down");
    expect(terminal.frame()).toMatch(/^› ● Explore part 2/m);
    expect(terminal.frame()).not.toContain("No agent matches");
    terminal.type("/");
    terminal.type("nothing");
    terminal.press("enter");
    expect(terminal.frame()).toContain("No agent matches “nothing”.");
  });
});
