import { describe, expect, it } from "vitest";
import { created, runEnded, started } from "../client/view/agent-events.test-support.ts";
import { openTestTerminal } from "./terminal.test-support.ts";

describe("notices about background agents that have ended", () => {
  it("are printed one by one if there are few, and combined if there are many", async () => {
    const terminal = await openTestTerminal();
    const ids = Array.from({ length: 40 }, (_, index) => `a${String(index).padStart(12, "0")}`);
    for (const id of ids) {
      terminal.happen(created([id]), id);
      terminal.happen(started({ background: true }), id);
    }
    await terminal.waitFor("40 working");
    for (const id of ids) terminal.happen(runEnded(), id);
    await terminal.waitFor("37 more agents have ended: 37 succeeded. The main agent gets their reports");
    expect(terminal.printed.match(/succeeded; the main agent gets its report/g)).toHaveLength(3);
  });
});
