import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { openSession, run, sessions, UserError } from "../../src/app/index.ts";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.ts";
import { newPlace, open, task } from "./delegation-place.ts";

const environment = { PATH: process.env["PATH"] };
const scripted = (...steps: ScriptedStep[]) => ({ model: createScriptedModel(steps), environment });

describe("run", () => {
  it("returns text, output, usage and facts, and closes the session", async () => {
    const { home, cwd } = newPlace();
    const schema = z.object({ lines: z.number() });
    const steps = [{ calls: [{ name: "Read", input: { file_path: "notes.txt" } }] }, { text: '{"lines":2}' }];
    const result = await run("Count the lines of notes.txt", { ...scripted(...steps), home, cwd, output: schema });
    expectTypeOf(result.output).toEqualTypeOf<{ lines: number } | undefined>();
    expect(result).toMatchObject({
      outcome: "succeeded",
      text: '{"lines":2}',
      output: { lines: 2 },
      facts: { toolCalls: { Read: 1 } },
      usage: { inputTokens: expect.any(Number) },
      notices: [],
    });
    const [listed, ...others] = await sessions.list({ home });
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ id: result.sessionId, inUse: false });
    const again = await run("And now?", { ...scripted({ text: "Still 2." }), home, cwd, resume: result.sessionId });
    expect(again).toMatchObject({ sessionId: result.sessionId, text: "Still 2." });
  });

  it("resolves if the model fails or the signal fires, and rejects only if the session can't be opened", async () => {
    const failed = await run("x", {
      ...scripted({ error: { code: "bad_request", message: "No." } }),
      home: false,
    });
    expect(failed).toMatchObject({ outcome: "failed", reason: "model_error" });
    const stop = new AbortController();
    const model = createScriptedModel([{ hangs: true }]);
    const call: typeof model.call = (request, emit) => {
      setImmediate(() => stop.abort());
      return model.call(request, emit);
    };
    const stopped = await run("x", { model: { ...model, call }, environment, home: false, signal: stop.signal });
    expect(stopped).toMatchObject({ outcome: "stopped", reason: "interrupted" });
    await expect(run("x", { permissionMode: "yolo" as never })).rejects.toThrow(UserError);
  });
});

describe("a session", () => {
  it("is closed at the end of an `await using` block", async () => {
    const at = newPlace();
    let id = "";
    {
      await using session = await openSession({ ...scripted({ text: "Hi." }), ...at });
      id = session.id;
      await session.prompt("Hello").result;
      expect((await sessions.list(at))[0]).toMatchObject({ id, inUse: true });
    }
    expect((await sessions.list(at))[0]).toMatchObject({ id, inUse: false });
  });

  it("replaces or extends the system prompt", async () => {
    const heads: string[] = [];
    for (const systemPrompt of ["You are a poet.", { append: "Answer in rhymes." }]) {
      const model = createScriptedModel([{ text: "Hi." }]);
      const call: typeof model.call = (request, emit) => {
        heads.push(request.prompt.head.system);
        return model.call(request, emit);
      };
      await run("Hello", { model: { ...model, call }, environment, home: false, systemPrompt });
    }
    expect(heads[0]).toMatch(/^You are a poet\.\n\nRules\n/);
    expect(heads[1]).toMatch(/^You are Retinue.*\n\nAnswer in rhymes\.\n\nRules\n/s);
  });

  it("lists and reads its subagents", async () => {
    const { session } = await open({
      MAIN: [{ calls: [task("CHILD: look")] }, { text: "Done." }],
      CHILD: [{ text: "Nothing." }],
    });
    await session.prompt("MAIN: do it.").result;
    const [child, ...others] = await session.subagents.list();
    expect(others).toEqual([]);
    expect(child).toMatchObject({
      agentType: "general-purpose",
      parent: "main",
      state: "ended",
      background: false,
      end: { outcome: "succeeded", text: "Nothing." },
    });
    const lines = await session.subagents.read(child?.agentId ?? "");
    expect(lines[0]).toMatchObject({ type: "agent.created", agentType: "general-purpose" });
    await expect(session.subagents.read("nobody")).rejects.toThrow('no agent "nobody"');
    await session.close();
  });
});

describe("sessions", () => {
  it("are listed, read and deleted", async () => {
    const at = newPlace();
    const { sessionId } = await run("Hello", { ...scripted({ text: "Hi." }), ...at });
    expect(await sessions.list({ ...at, cwd: "/elsewhere" })).toEqual([]);
    const { home } = at;
    const lines = await sessions.read(sessionId.slice(0, 20), { home });
    expect(lines.map(({ type }) => type)).toEqual(expect.arrayContaining(["session.created", "run.ended"]));
    await sessions.delete(sessionId, { home });
    expect(await sessions.list(at)).toEqual([]);
    await expect(sessions.read(sessionId, { home })).rejects.toThrow(`There is no session "${sessionId}"`);
  });
});
