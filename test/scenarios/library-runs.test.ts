import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, openSession, run, type Session } from "../../src/app/index.ts";
import { createCast, createScriptedModel } from "../../src/testing/index.ts";
import { lastWords, newPlace, open, resultsIn } from "./delegation-place.ts";

const touch = { calls: [{ name: "Bash", input: { command: "touch made.txt" } }] };

describe("a program's run", () => {
  it("keeps the process alive while it waits, even if nothing is stored on disk", async () => {
    const { cwd } = newPlace();
    const root = join(import.meta.dirname, "../..");
    const program = join(cwd, "program.mjs");
    writeFileSync(
      program,
      `import { openSession } from ${JSON.stringify(join(root, "dist/esm/index.js"))};
       import { createScriptedModel } from ${JSON.stringify(join(root, "dist/esm/testing/index.js"))};
       const session = await openSession({ home: false, model: createScriptedModel([{ hangs: true }]) });
       const { outcome } = await session.prompt("Wait", { signal: AbortSignal.timeout(500) }).result;
       console.log(outcome);
       await session.close();`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd });
    expect(stdout).toBe("stopped\n");
  });

  it("reports the cost of all agents, not only of the main agent", async () => {
    const input = { description: "look", prompt: "CHILD: look", subagent_type: "Explore" };
    const parts = { MAIN: [{ calls: [{ name: "Task", input }] }, { text: "Done." }], CHILD: [{ text: "Seen." }] };
    const model = createCast(parts, { prices: { input: 10, output: 10, cacheRead: 10, cacheWrite: 10 } });
    const { costUsd, spent } = await run("MAIN: go", { cwd: newPlace().cwd, home: false, model });
    expect(spent).toMatchObject({ turns: 3, agents: 1, unpriced: 0 });
    expect(spent.costUsd).toBeGreaterThan(costUsd ?? 0);
  });

  it("resumes a session only in its own directory, which the error names", async () => {
    const [here, elsewhere] = [newPlace(), newPlace()];
    const { sessionId } = await run("go", { ...here, model: createScriptedModel([{ text: "Done." }]) });
    const resumed = openSession({ cwd: elsewhere.cwd, home: here.home, resume: sessionId, provider: "offline" });
    await expect(resumed).rejects.toMatchObject({
      code: "no_session",
      message: expect.stringContaining(here.cwd),
      fix: expect.stringContaining("`cwd`"),
    });
  });

  it("has the id of its prompt, which is queued immediately", async () => {
    const { session } = await open({ MAIN: [{ text: "One." }] }, { home: false } as never);
    const first = session.prompt("MAIN: one");
    const second = session.prompt("MAIN: two");
    expect(first.promptId).toMatch(/^prompt_/);
    expect(session.queue()).toMatchObject([{ promptId: second.promptId, content: [{ text: "MAIN: two" }] }]);
    const id = "withdraw-1";
    const receipt = await session.send({ id, type: "withdraw", promptId: second.promptId ?? "" });
    expect(receipt.status).toBe("done");
    expect((await second.result).outcome).toBe("stopped");
    expect(session.queue()).toEqual([]);
    await first.result;
    await session.close();
  });

  it("can wait for an answer from the same program, which need not name an approver", async () => {
    const model = createScriptedModel([touch, { text: "Done." }]);
    const session = await openSession({ cwd: newPlace().cwd, home: false, model, onAsk: "wait" });
    const run = session.prompt("go");
    for await (const update of run) {
      if (update.type !== "approval.requested") continue;
      const { requestId } = update;
      const receipt = await session.send({ id: "yes", type: "answer", requestId, answer: { answer: "allow" } });
      expect(receipt.status).toBe("done");
    }
    expect((await run.result).facts.toolCalls).toEqual({ Bash: 1 });
    await session.close();
  });

  it("can't be started in a closed session, and the error suggests resuming only if that is possible", async () => {
    const session = await openSession({ ...newPlace(), home: false, model: createScriptedModel([]) });
    await session.close();
    expect(() => session.prompt("go")).toThrow(
      expect.objectContaining({ fix: expect.stringContaining("Open a new session.") }),
    );
  });
});

it("a run reports the files that the program's tool declares and changes", async () => {
  const { cwd } = newPlace();
  const note = defineTool({
    name: "note",
    description: "Writes a note.",
    input: z.object({ text: z.string() }),
    access: { write: ["note.txt", "other.txt"] },
    run: ({ text }) => writeFileSync(join(cwd, "note.txt"), text),
  });
  const model = createScriptedModel([{ calls: [{ name: "note", input: { text: "x" } }] }, { text: "Done." }]);
  const session = await openSession({ cwd, home: false, model, tools: [note], permissionMode: "acceptEdits" });
  const { facts } = await session.prompt("go").result;
  expect(facts.filesChanged).toEqual(["note.txt"]);
  await session.close();
});

describe("a limit in dollars for the program's model", () => {
  const prices = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
  const ask = async (session: Session) => {
    const result = await session.prompt("go").result;
    await session.close();
    return result;
  };
  const budget = { usd: 1 };

  it("uses the prices that the model describes", async () => {
    const model = createScriptedModel([{ text: "Done." }], { prices });
    const result = await ask(await openSession({ ...newPlace(), model, settings: { budget } }));
    expect(result).toMatchObject({ outcome: "succeeded", costUsd: expect.closeTo(0.00012) });
  });

  it("uses the prices in the settings", async () => {
    const settings = { budget, providers: { scripted: { prices: { "scripted-1": prices } } } };
    const model = createScriptedModel([{ text: "Done." }]);
    expect(await ask(await openSession({ ...newPlace(), model, settings }))).toMatchObject({ outcome: "succeeded" });
  });

  it("uses the prices of long prompts, from the model or the settings", async () => {
    const long = { ...prices, longPrompts: [{ above: 99, input: 10, output: 20, cacheRead: 0, cacheWrite: 0 }] };
    const described = createScriptedModel([{ text: "Done." }], { prices: long });
    const providers = { scripted: { prices: { "scripted-1": long } } };
    const set = createScriptedModel([{ text: "Done." }]);
    for (const [model, settings] of [
      [described, { budget }],
      [set, { budget, providers }],
    ] as const) {
      const result = await ask(await openSession({ ...newPlace(), model, settings }));
      expect(result).toMatchObject({ outcome: "succeeded", costUsd: expect.closeTo(0.0012, 6) });
    }
  });

  it("is refused with a message that says where to set the price if it is missing", async () => {
    const model = createScriptedModel([]);
    const result = await ask(await openSession({ ...newPlace(), model, settings: { budget } }));
    expect(result.message).toMatch(
      /price of the model scripted-1 is unknown.*Return the `prices` from the model's `describe\(\)`.*set budget\.tokens/,
    );
    expect(result.message).not.toMatch(/--|retinue models/);
  });
});

describe("a hook function that blocks", () => {
  const block = { run: () => ({ decision: "block", reason: "Not yet." }) as const };

  it("keeps an agent running", async () => {
    let asked = 0;
    const once = { run: () => (asked++ === 0 ? block.run() : undefined) };
    const { session, model } = await open({ MAIN: [{ text: "A." }, { text: "B." }] }, { hooks: { Stop: [once] } });
    expect((await session.prompt("MAIN: go").result).text).toBe("B.");
    expect(lastWords(model.requests("MAIN")[1])).toContain("Not yet.");
    await session.close();
  });

  it("rejects a prompt, or gives the model its reason after a call", async () => {
    const rejecting = await open({ MAIN: [] }, { hooks: { UserPromptSubmit: [block] } });
    expect((await rejecting.session.prompt("MAIN: go").result).outcome).not.toBe("succeeded");
    await rejecting.session.close();
    const read = { calls: [{ name: "Read", input: { file_path: "notes.txt" } }] };
    const { session, model } = await open({ MAIN: [read, { text: "B." }] }, { hooks: { PostToolUse: [block] } });
    await session.prompt("MAIN: go").result;
    expect(JSON.stringify(model.requests("MAIN")[1]) + resultsIn(model.requests("MAIN")[1])).toContain("Not yet.");
    await session.close();
  });
});
