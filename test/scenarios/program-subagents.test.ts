import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createMemoryTranscript, openSession, type SessionOptions, type Transcript } from "../../src/app/index.ts";
import { createApiServer } from "../../src/testing/index.ts";
import { lastWords, mainLines, newPlace, open, read, resultsIn, transcriptsIn } from "./delegation-place.ts";

const output = z.object({ count: z.number() });

describe("an agent that the program starts", () => {
  it("runs as a subagent of the main agent before any prompt, and returns a typed result", async () => {
    const { session, model, ...at } = await open({ PART: [{ calls: [read] }, { text: '{"count":2}' }] });
    const started = await session.subagents.start("general-purpose", "PART: count the lines", { output });
    const result = await started.result;
    expectTypeOf(result.output).toEqualTypeOf<{ count: number } | undefined>();
    expect(result).toMatchObject({ outcome: "succeeded", output: { count: 2 }, facts: { toolCalls: { Read: 1 } } });
    expect(await session.subagents.list()).toMatchObject([
      { agentId: started.agentId, parent: "main", state: "ended", description: "PART: count the lines" },
    ]);
    expect((await session.spent()).turns).toBe(2);
    await session.close();
    model.assertDone();
    const lines = mainLines(at, session.id);
    expect(lines.map(({ type }) => type)).toEqual(["session.created", "agent.spawned"]);
    expect(lines[1]).toMatchObject({ agentId: started.agentId, by: "program" });
    const [[, [created] = []] = []] = transcriptsIn(at, session.id);
    const subagent = { parentSessionId: session.id, agentType: "general-purpose" };
    expect(created).toMatchObject({ type: "agent.created", metadata: { subagent } });
    expect(created?.type === "agent.created" && created.metadata?.subagent.callId).toBeUndefined();
  });

  it("thinks as much as the call says, instead of its definition", async () => {
    const server = await createApiServer({ script: [{ content: "A." }, { content: "B." }] });
    onTestFinished(() => server.close());
    const session = await openSession({
      ...newPlace(),
      agents: { judge: { description: "Judges. Use it.", prompt: "Judge.", effort: "low" } },
      environment: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url },
    });
    for (const effort of ["high", undefined] as const)
      await (await session.subagents.start("judge", "Look.", { effort })).result;
    const sent = server.requests.map(({ body }) => (body as { output_config?: object }).output_config);
    expect(sent).toEqual([{ effort: "high" }, { effort: "low" }]);
    await expect(session.subagents.start("judge", "Look.", { effort: "huge" as never })).rejects.toThrow(/effort/);
    await session.close();
  });

  it("works alongside the main agent, which is not notified", async () => {
    const { session, model } = await open({ MAIN: [{ text: "One." }, { text: "Two." }], PART: [{ text: "Part." }] });
    await session.prompt("MAIN: one").result;
    const [first, second] = await Promise.all([
      session.subagents.start("general-purpose", "PART: look", { description: "look" }),
      session.prompt("two").result,
    ]);
    expect((await first.result).text).toBe("Part.");
    expect(second.text).toBe("Two.");
    expect(lastWords(model.requests("MAIN")[1])).not.toContain("Part");
    await session.close();
  });

  it("can run in parallel with others in a new session, within the budget", async () => {
    const settings = { budget: { spawns: 2 } };
    const { session } = await open({ PART: [{ text: "A." }, { text: "B." }] }, { settings });
    const start = () => session.subagents.start("general-purpose", "PART: look");
    const both = await Promise.all([start(), start()]);
    expect((await Promise.all(both.map(({ result }) => result))).map(({ outcome }) => outcome)).toEqual([
      "succeeded",
      "succeeded",
    ]);
    await expect(start()).rejects.toMatchObject({
      name: "UserError",
      message: expect.stringMatching(/the limit is 2 agents .* To raise it, set budget\.spawns in your settings\.$/),
    });
    await session.close();
  });

  it.each<[string, SessionOptions]>([
    ["the disallowedTools option", { disallowedTools: ["Task"] }],
    ["subagents.maxDepth", { settings: { subagents: { maxDepth: 0 } } }],
    [
      "its definition",
      { agent: "boss", agents: { boss: { description: "b", prompt: "b", disallowedTools: ["Task"] } } },
    ],
  ])("can be started if the main agent can't delegate because of %s", async (_, options) => {
    const { session } = await open({ PART: [{ text: "Part." }] }, options);
    expect(session.tools).not.toContain("Task");
    const started = await session.subagents.start("general-purpose", "PART: look");
    expect((await started.result).text).toBe("Part.");
    await session.close();
  });

  it("can't be started if a rule denies it", async () => {
    const some = await open({}, { disallowedTools: ["Task(Explore)"] });
    await expect(some.session.subagents.start("Explore", "PART: look")).rejects.toThrow('no agent "Explore" that');
    await some.session.close();
    const { session } = await open({}, { settings: { permissions: { deny: ["Task"] } } });
    await expect(session.subagents.start("Explore", "PART: look")).rejects.toMatchObject({
      message: "session.subagents.start can't start agents, because there are none that the rules allow",
    });
    await session.close();
  });

  it.each(["agent first", "prompt first", "save first"])(
    "can be started at the same time as the first prompt (%s)",
    async (order) => {
      const memory = createMemoryTranscript();
      const types: string[] = [];
      // A store that takes a moment for each write.
      const append: Transcript["append"] = async (agentId, events) => {
        await new Promise((written) => setImmediate(written));
        if (agentId === "main") types.push(...events.map(({ type }) => type));
        return memory.append(agentId, events);
      };
      const script = { MAIN: [{ text: "One." }], PART: [{ text: "Part." }] };
      const { session } = await open(script, { transcript: { ...memory, append } });
      const saved = order === "save first" ? session.save() : undefined;
      const start = () => session.subagents.start("general-purpose", "PART: look").then(({ result }) => result);
      const prompt = () => session.prompt("MAIN: one").result;
      const both = await Promise.all(order === "agent first" ? [start(), prompt()] : [prompt(), start()]);
      expect(both.map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded"]);
      await saved;
      await session.close();
      expect(types[0]).toBe("session.created");
      expect(types.filter((type) => type === "session.created")).toHaveLength(1);
    },
  );

  it("is subject to the session's permissions, and stops with its signal or its session", async () => {
    const bash = { calls: [{ name: "Bash", input: { command: "touch made.txt" } }] };
    const { session, model } = await open({
      PART: [bash, { text: "No." }],
      SLOW: [{ hangs: true }],
      LAST: [{ hangs: true }],
    });
    const denied = await session.subagents.start("general-purpose", "PART: write");
    expect((await denied.result).facts.denied).toMatchObject([{ tool: "Bash" }]);
    expect(resultsIn(model.requests("PART")[1])[0]).toContain("was not run");
    const stop = new AbortController();
    const slow = await session.subagents.start("general-purpose", "SLOW: wait", { signal: stop.signal });
    stop.abort();
    expect((await slow.result).outcome).toBe("stopped");
    const last = await session.subagents.start("general-purpose", "LAST: wait", { background: true });
    await session.close();
    expect((await last.result).outcome).toBe("stopped");
    await expect(session.subagents.start("general-purpose", "x")).rejects.toThrow("closed");
  });

  it.each<[string, SessionOptions]>([
    ["", {}],
    [" even if the main agent can't delegate", { disallowedTools: ["Task"] }],
  ])("reports to the program when it is resumed, not to the main agent%s", async (_, options) => {
    const script = { MAIN: [{ text: "One." }, { text: "Two." }], PART: [{ text: "First." }, { text: "Second." }] };
    const { session, model } = await open(script, options);
    await session.prompt("MAIN: one").result;
    const { agentId, result } = await session.subagents.start("general-purpose", "PART: look");
    expect((await result).text).toBe("First.");
    expect(await session.subagents.message(agentId, "Look again")).toMatchObject({ status: "done" });
    expect(await session.subagents.wait(agentId)).toMatchObject({ outcome: "succeeded", text: "Second." });
    expect((await session.prompt("two").result).text).toBe("Two.");
    expect(lastWords(model.requests("MAIN")[1])).not.toMatch(/Second|task_notification/);
    await session.close();
    model.assertDone();
  });

  it("continues after its session was parked, and still reports to the program", async () => {
    const script = { MAIN: [{ text: "One." }], PART: [{ hangs: true }] };
    const { session, home, cwd } = await open(script);
    await session.prompt("MAIN: one").result;
    const { agentId, result } = await session.subagents.start("general-purpose", "PART: look");
    for await (const { agentId: by, event } of session.events())
      if (by === agentId && event.type === "model.requested") break;
    await session.park();
    expect((await result).reason).toBe("parked");
    const later = await open(
      { "MAIN: one": [{ text: "Two." }], PART: [{ text: "Part." }] },
      { resume: session.id, at: { home, cwd } },
    );
    expect(await later.session.continueWork()).toEqual([]);
    expect(await later.session.subagents.wait(agentId)).toMatchObject({ outcome: "succeeded", text: "Part." });
    expect((await later.session.prompt("two").result).text).toBe("Two.");
    expect(lastWords(later.model.requests("MAIN: one")[0])).not.toMatch(/Part|task_notification/);
    await later.session.close();
  });

  it("must exist and have a prompt", async () => {
    const { session } = await open({ MAIN: [] }, { disallowedTools: ["Task(Explore)"] });
    const { subagents } = session;
    await expect(subagents.start("general-purpos", "x")).rejects.toMatchObject({
      fix: 'Did you mean "general-purpose"?',
    });
    await expect(subagents.start("Explore", "x")).rejects.toThrow('There is no agent "Explore"');
    await expect(subagents.start("general-purpose", "")).rejects.toThrow("needs a prompt");
    await expect(subagents.start("general-purpose", "x", { turns: 1 } as never)).rejects.toThrow('no option "turns"');
    await expect(subagents.start("general-purpose", "x", { output: { type: "strng" } })).rejects.toThrow("strng");
    await session.close();
  });
});
