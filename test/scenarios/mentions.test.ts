import { describe, expect, it } from "vitest";
import type { RunUpdate } from "../../src/protocol/index.ts";
import {
  asAfterKill,
  firstPrompt,
  lastWords,
  mainLines,
  newPlace,
  type Options,
  open,
  type Parts,
  promised,
  transcriptsIn,
} from "./delegation-place.ts";

const PROMPT = "MAIN: thanks.\n\n@Explore CHILD: find the notes";
const done = { text: "Done." };
const read = { calls: [{ name: "Read", input: { file_path: "notes.txt" } }] };

async function ask(parts: Parts, { prompt = PROMPT, ...options }: Options & { readonly prompt?: string } = {}) {
  const { session, model, ...place } = await open(parts, options);
  const updates: RunUpdate[] = [];
  const run = session.prompt(prompt);
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  return { result, model, updates, sessionId: session.id, ...place };
}

const noticesIn = (updates: readonly RunUpdate[]): string[] =>
  updates.flatMap((update) => (update.type === "notice.raised" ? [update.message] : []));

describe("an agent that the user mentions", () => {
  it("starts whatever the model does, and the main agent answers with its report", async () => {
    const { model, result, updates, sessionId, ...place } = await ask({
      MAIN: [done],
      CHILD: [read, { text: "In notes.txt." }],
    });
    model.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
    expect(firstPrompt(model.requests("CHILD")[0] ?? [])).toBe("CHILD: find the notes");
    const told = lastWords(model.requests("MAIN")[0]);
    expect(told).toMatch(/@Explore CHILD: find the notes[\s\S]*has started the agent "Explore" \(a\w+\)/);
    expect(told).toMatch(
      /1 agent ended\.\n<task_notification agent="Explore" id="a\w+" status="completed">[\s\S]*In notes\.txt\./,
    );
    const [[, lines = []] = []] = transcriptsIn(place, sessionId);
    expect(lines[0]).toMatchObject({ type: "agent.created", by: "person", agentType: "Explore" });
    expect(lines[0]).not.toHaveProperty("metadata.subagent.callId");
    expect(mainLines(place, sessionId)).toContainEqual(
      expect.objectContaining({ type: "agent.spawned", by: "person", runId: expect.any(String) }),
    );
  });

  it("starts together with others, each once", async () => {
    const prompt = "MAIN: ask @agent-explore and @agent-general, then @agent-Explore again.";
    const { model, updates } = await ask({ "The permission": [done], MAIN: [done, done, done] }, { prompt });
    expect(model.requests("MAIN")).toHaveLength(3);
    const types = updates.flatMap((update) => (update.type === "agent.spawned" ? [update.agentType] : []));
    expect(types).toEqual(["Explore", "general-purpose"]);
  });

  it("starts from a prompt that arrives during a run", async () => {
    const { promise: told, keep: tell } = promised();
    const { session, model } = await open({ MAIN: [{ ...read, after: told }, done], CHILD: [{ text: "Found." }] });
    const run = session.prompt("MAIN: go on.");
    for await (const update of run) {
      if (update.type !== "model.requested" || update.turn !== 1) continue;
      const content = [{ type: "text", text: "@Explore CHILD: find it" } as const];
      void session.send({ id: "1", type: "prompt", to: "main", content, when: "now" }).then(tell);
    }
    await session.close();
    model.assertDone();
    expect(lastWords(model.requests("MAIN")[1])).toContain("Found.");
  });

  it.each([
    ["a rule", { settings: { permissions: { deny: ["Task(Explore)"] } } }, /Task\(Explore\)/],
    ["a rule for its alias", { settings: { permissions: { deny: ["Agent(explore)"] } } }, /Agent\(explore\)/],
    ["a rule for all agents", { disallowedTools: ["Task"] }, /can't start agents/],
    [
      "a hook",
      { settings: { hooks: { PreToolUse: [{ matcher: "Task", command: "echo no >&2; exit 2" }] } } },
      /hook denied it: no/,
    ],
    ["a budget", { settings: { budget: { spawns: 0 } } }, /spawns/],
  ] satisfies [string, Options, RegExp][])(
    "does not start if %s denies it, and everyone is told",
    async (_, options, why) => {
      const prompt = "MAIN: let @agent-Explore look at CHILD";
      const { model, updates } = await ask({ MAIN: [done] }, { ...options, prompt });
      model.assertDone();
      expect(updates.map(({ type }) => type)).not.toContain("agent.spawned");
      expect(noticesIn(updates)).toEqual([expect.stringMatching(/^@Explore was not started\. /)]);
      expect(noticesIn(updates)[0]).toMatch(why);
      expect(lastWords(model.requests("MAIN")[0])).toMatch(/^The agent "Explore" was not started\. /m);
    },
  );

  it.each([["Task(Explore)"], ["Task"]])("is not taken for text if the rule %s denies it", async (rule) => {
    const { model, updates } = await ask({ MAIN: [done] }, { settings: { permissions: { deny: [rule] } } });
    model.assertDone();
    expect(noticesIn(updates)).toEqual([expect.stringMatching(/^@Explore was not started\. /)]);
    expect(lastWords(model.requests("MAIN")[0])).toContain('The agent "Explore" was not started. ');
  });

  it("is not started if there is no such agent", async () => {
    const { updates } = await ask({ MAIN: [done] }, { prompt: "MAIN: let @agent-Explor look" });
    expect(noticesIn(updates)).toEqual([expect.stringContaining("Did you mean Explore?")]);
  });

  it("starts without a question, because the user requested it", async () => {
    const { model, updates } = await ask(
      { MAIN: [done], CHILD: [{ text: "Found." }] },
      { settings: { permissions: { ask: ["Task"] } } },
    );
    model.assertDone();
    expect(updates.map(({ type }) => type)).not.toContain("approval.requested");
  });

  it("stops with the main agent, which learns about it with the next prompt", async () => {
    const { session, model } = await open({ MAIN: [done], CHILD: [{ text: "So far.", hangs: true }] });
    const run = session.prompt(PROMPT);
    for await (const update of run) {
      const isAsked = update.type === "subagent.event" && update.event.type === "model.requested";
      if (isAsked) void session.interrupt();
    }
    expect((await run.result).reason).toBe("interrupted");
    for await (const _ of session.prompt("And now?"));
    await session.close();
    expect(lastWords(model.requests("MAIN")[0])).toMatch(/<task_notification agent="Explore".* status="stopped">/);
  });

  it("can be moved to the background, so that the main agent continues", async () => {
    const { promise: answered, keep: answer } = promised();
    const { session, model } = await open(
      { MAIN: [done, done], CHILD: [{ text: "Found late.", after: answered }] },
      { interactive: true },
    );
    const run = session.prompt(PROMPT);
    for await (const update of run) {
      const isAsked = update.type === "subagent.event" && update.event.type === "model.requested";
      if (isAsked) expect(await session.moveToBackground()).toHaveLength(1);
    }
    answer();
    await session.subagents.wait((await session.subagents.list())[0]?.agentId ?? "");
    for await (const _ of session.prompt("And now?"));
    await session.close();
    expect(lastWords(model.requests("MAIN")[0])).not.toContain("Found late.");
    expect(lastWords(model.requests("MAIN")[1])).toContain("Found late.");
  });

  it("continues after a crash, and its report arrives", async () => {
    const at = newPlace();
    const { promise: never } = promised();
    const { session } = await open({ MAIN: [done], CHILD: [{ ...read, after: never }] }, { at });
    const run = session.prompt(PROMPT);
    for await (const update of run) {
      if (update.type !== "subagent.event" || update.event.type !== "model.requested") continue;
      const left = asAfterKill(at);
      void session.interrupt();
      const again = await open({ MAIN: [done], CHILD: [{ text: "Found again." }] }, { at: left, resume: session.id });
      for await (const _ of again.session.prompt(""));
      await again.session.close();
      again.model.assertDone();
      expect(lastWords(again.model.requests("MAIN")[0])).toContain("Found again.");
    }
    await session.close();
  });
});
