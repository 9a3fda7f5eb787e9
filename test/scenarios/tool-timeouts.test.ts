import { expect, it } from "vitest";
import { openSession } from "../../src/app/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";
import { newPlace } from "./delegation-place.ts";

it("a command without a timeout uses the timeout in the settings", async () => {
  const model = createScriptedModel([
    { calls: [{ name: "Bash", input: { command: "sleep 60" } }] },
    { text: "It took too long." },
  ]);
  const settings = { timeouts: { bash: 1 }, sandbox: "off" } as const;
  const session = await openSession({ ...newPlace(), model, settings, allowedTools: ["Bash(sleep:*)"] });
  const results: string[] = [];
  for await (const update of session.prompt("Wait.")) {
    if (update.type === "tool.ended") results.push(JSON.stringify(update.result.content));
  }
  await session.close();
  expect(results).toEqual([expect.stringContaining("Timed out after 1.0 s")]);
});
