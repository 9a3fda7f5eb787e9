import { expect, it } from "vitest";
import { performTask } from "./perform-task.ts";

it("Verification does not run in the project itself: it needs a copy of its own", async () => {
  const task = { agent: "Verification", say: "Verify.", steps: [] };
  await expect(performTask(task)).rejects.toThrow("works in a copy of its own");
});
