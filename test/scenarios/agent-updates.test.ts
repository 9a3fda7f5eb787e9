import { expect, it } from "vitest";
import { type AgentUpdates, openSession } from "../../src/app/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";
import { newPlace, task } from "./delegation-place.ts";

/** Returns the types of the updates that a run reports about its only subagent, which makes one call and answers. */
async function toldWith(agentUpdates: AgentUpdates): Promise<readonly string[]> {
  const look = { name: "LS", input: {} };
  const model = createScriptedModel([
    { calls: [task("CHILD: go", { subagent_type: "Explore" })] },
    { calls: [look] },
    { text: "Looked." },
    { text: "Done." },
  ]);
  const session = await openSession({ ...newPlace(), model, agentUpdates });
  const told: string[] = [];
  for await (const update of session.prompt("MAIN: do it.")) {
    if (update.type === "subagent.event") told.push(update.event.type);
  }
  await session.close();
  return told;
}

it("a run emits its subagents' events at the requested level of detail", async () => {
  const all = await toldWith("all");
  expect(all).toContain("text.delta");
  const recorded = await toldWith("recorded");
  expect(recorded).toEqual(all.filter((type) => !type.endsWith(".delta")));
  expect(recorded).toContain("tool.ended");
  expect(await toldWith("milestones")).toEqual(["agent.created", "run.started", "run.ended"]);
});
