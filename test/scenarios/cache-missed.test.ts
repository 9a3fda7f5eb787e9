import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { RunUpdate } from "../../src/protocol/index.ts";
import { createScriptedModel } from "../../src/testing/index.ts";

/** Sends two prompts to a session, reopens it with other options, sends them again, and returns all cache misses. */
async function missesBetween(first: SessionOptions, second: SessionOptions): Promise<readonly RunUpdate[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-cache-missed-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const place = { home: join(root, "home"), cwd: root, environment: { PATH: process.env["PATH"], HOME: root } };
  const missed: RunUpdate[] = [];
  let resume: string | undefined;
  for (const options of [first, second]) {
    const model = createScriptedModel([{ text: "Yes." }, { text: "Yes." }]);
    const session = await openSession({ model, ...place, ...options, ...(resume === undefined ? {} : { resume }) });
    for (const words of ["Is it so?", "Really?"]) {
      const run = session.prompt(words);
      for await (const update of run) if (update.type === "cache.missed") missed.push(update);
      await run.result;
    }
    await session.close();
    resume = session.id;
  }
  return missed;
}

const agents = (prompt: string): SessionOptions => ({
  agent: "judge",
  agents: { judge: { description: "Judges. Use it.", prompt } },
});

describe("a cache miss", () => {
  it("is reported with the model if that differs", async () => {
    const model = createScriptedModel([{ text: "Yes." }, { text: "Yes." }], { model: "scripted-2" });
    const [missed, ...more] = await missesBetween({}, { model });
    expect(more).toEqual([]);
    const firstDifference = '{"model":"scripted-'.length;
    expect(missed).toMatchObject({ dimension: "tools_model_thinking", firstDifference, turn: 3 });
  });

  it("is not reported if a session continues unchanged", async () => {
    expect(await missesBetween({}, {})).toEqual([]);
  });

  it("does not happen if an agent's definition has changed, because its conversation keeps its system prompt", async () => {
    expect(await missesBetween(agents("You judge mildly."), agents("You judge sternly."))).toEqual([]);
  });
});

it("a session that is resumed without a model option reports that a different model is used", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-other-model-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const place = { home: join(root, "home"), cwd: root, environment: { PATH: process.env["PATH"], HOME: root } };
  const model = createScriptedModel([{ text: "Yes." }]);
  const { provider, model: name } = model.describe();
  const first = await openSession({ ...place, model });
  await first.prompt("Is it so?").result;
  await first.close();
  const noticesOf = async (options: SessionOptions): Promise<readonly string[]> => {
    const session = await openSession({ ...place, ...options, resume: first.id });
    await session.close();
    return session.notices.filter((notice) => notice.includes("This session has used the model"));
  };
  const word = `the \`model: ${provider}/${name}\` option.`;
  expect(await noticesOf({})).toEqual([expect.stringMatching(/now uses offline\/.*\. To keep using .*, pass /)]);
  expect((await noticesOf({}))[0]?.endsWith(word)).toBe(true);
  expect(await noticesOf({ model })).toEqual([]);
});
