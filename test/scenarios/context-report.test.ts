import { expect, it } from "vitest";
import { open, read, task } from "./delegation-place.ts";

it("the context report counts a prompt that begins with a bracket as a prompt", async () => {
  const { session } = await open({ "[MAIN]": [{ text: "Done." }] });
  await session.prompt(`[MAIN] ${"go on ".repeat(2_000)}`).result;
  const parts = (await session.context())?.parts ?? [];
  const tokens = (part: string) => parts.find(({ name }) => name === part)?.tokens ?? 0;
  expect(tokens("prompts")).toBeGreaterThan(10 * tokens("notes from Retinue"));
  await session.close();
});

it("the context report shows what fills each agent's context window", async () => {
  const { session } = await open(
    {
      MAIN: [{ calls: [task("PART: look.", { name: "helper" })] }, { text: "Done." }],
      PART: [{ calls: [read] }, { text: "Found." }],
    },
    { window: 50_000 },
  );
  expect(await session.context()).toBeUndefined();
  await session.prompt(`MAIN: ${"go on ".repeat(2_000)}`).result;
  const main = await session.context();
  expect(main).toMatchObject({ agentId: "main", model: "scripted-1", window: 50_000 });
  const names = (main?.parts ?? []).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["tools", "system prompt", "prompts", "results of Task"]));
  const sizes = (main?.parts ?? []).map(({ tokens }) => tokens);
  expect(sizes).toEqual(sizes.toSorted((left, right) => right - left));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(Math.abs(total - (main?.used ?? 0))).toBeLessThan(sizes.length);
  const helper = await session.context("helper");
  expect(helper?.parts.map(({ name }) => name)).toContain("results of Read");
  expect(await session.context("nobody")).toBeUndefined();
  await session.close();
});
