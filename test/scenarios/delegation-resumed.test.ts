import { describe, expect, it } from "vitest";
import { asAfterKill, newPlace, open, read, resultsIn, task } from "./delegation-place.ts";

describe("a delegation that a person allowed before the process died", () => {
  it("is not asked about again, and its agent's report comes", async () => {
    const at = newPlace();
    const settings = { permissions: { ask: ["Task"] } };
    const yes = { ask: async () => ({ answer: "allow", by: "a person" }) as const };
    const first = await open(
      { MAIN: [{ calls: [task("CHILD: go")] }], CHILD: [{ calls: [read] }, { hangs: true }] },
      { at, settings, approvals: yes },
    );
    const run = first.session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type === "subagent.event" && update.event.type === "model.requested" && update.event.turn === 2) break;
    }
    const left = asAfterKill(at);
    run.stop("stopped");
    await run.result;
    await first.session.close();
    const { model, session } = await open(
      { MAIN: [{ text: "It says alpha." }], CHILD: [{ text: "alpha" }] },
      { at: left, settings, resume: first.session.id },
    );
    await session.prompt("").result;
    await session.close();
    expect(resultsIn(model.requests("MAIN")[0])[0]).toContain("\nalpha\n");
  });
});
