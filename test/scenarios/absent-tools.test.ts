import { expect, it } from "vitest";
import { openSession } from "../../src/app/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";
import { newPlace, task } from "./delegation-place.ts";

it("a built-in agent with search tools starts without a notice if searching is not available", async () => {
  const calls = [task("CHILD: go", { subagent_type: "Explore" })];
  const model = createScriptedModel([{ calls }, { text: "Looked." }, { text: "Done." }]);
  const session = await openSession({ ...newPlace(), model, settings: { search: { engine: "off" } } });
  const told: string[] = [];
  for await (const update of session.prompt("MAIN: do it.")) {
    const event = update.type === "subagent.event" ? update.event : update;
    if (event.type === "notice.raised") told.push(event.message);
  }
  await session.close();
  expect(told).toEqual([]);
});
