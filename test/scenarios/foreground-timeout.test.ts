import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { EventOf, Line, RunUpdate } from "../../src/protocol/index.ts";
import { lastWords, open, promised, read, resultsIn, task, transcriptsIn } from "./delegation-place.ts";

const subagents = { timeoutSeconds: 0.1 };

describe("a foreground agent that takes too long", () => {
  it("continues in the background if a user is present, and its end is reported with the next prompt", async () => {
    const { promise: released, keep: release } = promised();
    const { session, model, home, cwd } = await open(
      {
        MAIN: [{ calls: [task("CHILD: look")] }, { text: "I go on." }, { text: "It said it." }],
        CHILD: [{ calls: [read] }, { text: "Late.", after: released }],
      },
      { interactive: true, settings: { subagents } },
    );
    const run = session.prompt("MAIN: do it.");
    for await (const _ of run);
    expect(await run.result).toMatchObject({ outcome: "succeeded", text: "I go on." });
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("in the background");

    release();
    for await (const { agentId, event } of session.events())
      if (agentId !== "main" && event.type === "run.cleaned") break;
    const next = session.prompt("MAIN: and now?");
    for await (const _ of next);
    expect((await next.result).text).toBe("It said it.");
    const told = lastWords(model.requests("MAIN")[2]);
    expect(told).toMatch(/<task_notification .*Late\./s);
    await session.close();

    const [[, lines = []] = []] = transcriptsIn({ home, cwd }, session.id);
    const moved = lines.find((line): line is Line & EventOf<"run.backgrounded"> => line.type === "run.backgrounded");
    expect(moved?.cause).toBe("timeout");
    expect(lines.filter(({ type }) => type === "run.ended")).toMatchObject([{ outcome: "succeeded", text: "Late." }]);
    const [, id] = / output_file="retinue:\/\/output\/(a\w+)"/.exec(told) ?? [];
    const text = readFileSync(
      (session.transcriptPath ?? "").replace(/\.jsonl$/, `/subagents/agent-${id}.output`),
      "utf8",
    );
    expect(text.match(/CHILD: look/g)).toHaveLength(1);
    expect(text.match(/Read \(ok\)/g)).toHaveLength(1);
    expect(text.match(/Late\./g)).toHaveLength(1);
  });

  it("ends with its work so far if no user is present", async () => {
    const { session, model } = await open(
      { MAIN: [{ calls: [task("CHILD: look")] }, { text: "I go on." }], CHILD: [{ text: "So far.", hangs: true }] },
      { settings: { subagents } },
    );
    const run = session.prompt("MAIN: do it.");
    const updates: RunUpdate[] = [];
    for await (const update of run) updates.push(update);
    expect((await run.result).text).toBe("I go on.");
    await session.close();
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(/status="incomplete">\nSo far\./);
    expect(JSON.stringify(updates)).not.toContain("run.backgrounded");
  });

  it("has no time limit after a user has moved it to the background", async () => {
    const { promise: released, keep: release } = promised();
    const { session, model } = await open(
      {
        MAIN: [{ calls: [task("CHILD: look")] }, { text: "I go on." }, { text: "It said it." }],
        CHILD: [{ text: "Late.", after: released }],
      },
      { settings: { subagents } },
    );
    const run = session.prompt("MAIN: do it.");
    for await (const update of run) {
      if (update.type !== "subagent.event" || update.event.type !== "run.started") continue;
      expect(await session.moveToBackground()).toHaveLength(1);
      setTimeout(release, 3 * subagents.timeoutSeconds * 1_000);
    }
    expect((await run.result).text).toBe("It said it.");
    await session.close();
    expect(lastWords(model.requests("MAIN")[2])).toMatch(/status="completed".*Late\./s);
  });

  it("ends, even with a user present, if its own definition limits its time", async () => {
    const slow = { description: "Slow.", prompt: "Be slow.", timeout: "100ms" };
    const { session, model } = await open(
      {
        MAIN: [{ calls: [task("CHILD: look", { subagent_type: "slow" })] }, { text: "I go on." }],
        CHILD: [{ text: "So far.", hangs: true }],
      },
      { interactive: true, agents: { slow } },
    );
    const run = session.prompt("MAIN: do it.");
    for await (const _ of run);
    await session.close();
    expect(resultsIn(model.requests("MAIN")[1])[0]).toMatch(/status="incomplete">\nSo far\./);
  });
});
