import { mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { Line, RunResult, RunUpdate } from "../../src/protocol/index.ts";
import { createScriptedModel, type ScriptedModel, type ScriptedStep } from "../../src/testing/index.ts";
import { createMemoryTranscript } from "../../src/transcript/index.ts";

interface Walk {
  readonly result: RunResult;
  readonly updates: readonly RunUpdate[];
  readonly model: ScriptedModel;
  readonly home: string;
  readonly cwd: string;
  readonly sessionId: string;
  readonly transcriptPath: string;
}

function place(): { home: string; cwd: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-scenario-")));
  const cwd = mkdtempSync(join(root, "work-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  return { home: join(root, "home"), cwd };
}

async function walk(
  steps: readonly ScriptedStep[],
  { say = "Do it.", ...options }: SessionOptions & { say?: string } = {},
): Promise<Walk> {
  const { home, cwd } = options.home ? { home: options.home, cwd: options.cwd ?? "" } : place();
  const model = createScriptedModel(steps);
  const session = await openSession({ ...options, home, cwd, model, environment: { PATH: process.env["PATH"] } });
  const run = session.prompt(say);
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  return { result, updates, model, home, cwd, sessionId: session.id, transcriptPath: session.transcriptPath ?? "" };
}

function linesOf(updates: readonly RunUpdate[]): Line[] {
  return updates.filter((update): update is Line => "id" in update);
}

describe("a supplied transcript", () => {
  /** A transcript that outlives the sessions that use it. */
  const lasting = () => {
    const memory = createMemoryTranscript();
    let closed = 0;
    const transcript = { ...memory, close: async () => void closed++ };
    return { transcript, closed: () => closed };
  };

  it("gets all lines, and another session continues from them", async () => {
    const { transcript, closed } = lasting();
    const first = await walk([{ calls: [{ name: "Read", input: { file_path: "notes.txt" } }] }, { text: "Read." }], {
      transcript,
    });
    expect(first).toMatchObject({ sessionId: transcript.sessionId, transcriptPath: "" });
    const lines = await transcript.read("main");
    expect(linesOf(first.updates).map(({ type }) => type)).toEqual(lines.slice(0, -1).map(({ type }) => type));
    expect(readdirSync(dirname(first.home))).not.toContain("home");
    const { home, cwd } = first;
    const again = await walk([{ text: "Again." }], {
      transcript,
      home,
      cwd,
      resume: transcript.sessionId,
      say: "More.",
    });
    expect(again.model.requests[0]).toHaveLength(5);
    expect(closed()).toBe(2);
  });

  it("is closed if the session can't be opened, and must belong to the resumed session", async () => {
    const { transcript, closed } = lasting();
    await expect(walk([], { transcript, agent: "nobody" })).rejects.toThrow("nobody");
    expect(closed()).toBe(1);
    await expect(walk([], { transcript, resume: "other" })).rejects.toThrow(/resume option is other/);
  });
});

describe("one agent", () => {
  it("reads a file, edits it, and reports facts from the runtime", async () => {
    const { result, updates, model, cwd } = await walk(
      [
        { text: "Looking.", calls: [{ name: "Read", input: { file_path: "notes.txt" } }] },
        { calls: [{ name: "Edit", input: { file_path: "notes.txt", old_string: "beta", new_string: "gamma" } }] },
        { text: "Changed beta to gamma." },
      ],
      { permissionMode: "acceptEdits" },
    );
    model.assertDone();
    expect(readFileSync(join(cwd, "notes.txt"), "utf8")).toBe("alpha\ngamma\n");
    expect(result).toMatchObject({
      outcome: "succeeded",
      reason: "done",
      text: "Changed beta to gamma.",
      turns: 3,
      usage: { inputTokens: 300, outputTokens: 30 },
      facts: { toolCalls: { Read: 1, Edit: 1 }, filesChanged: ["notes.txt"], denied: [] },
    });
    expect(linesOf(updates).map((line) => line.type)).toEqual([
      "session.created",
      "head.set",
      "run.started",
      "context.added",
      "prompt.received",
      "model.requested",
      "model.ended",
      "tool.requested",
      "tool.started",
      "tool.ended",
      "model.requested",
      "model.ended",
      "tool.requested",
      "tool.started",
      "tool.ended",
      "model.requested",
      "model.ended",
      "run.ended",
    ]);
  });

  it("writes a transcript that matches the events that its reader received", async () => {
    const { updates, transcriptPath } = await walk([{ text: "Hello." }]);
    const written = readFileSync(transcriptPath, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    // When the session closes, the run is cleaned up, which adds a line.
    expect(written.slice(0, -1)).toEqual(linesOf(updates));
    expect(written.at(-1)?.type).toBe("run.cleaned");
    expect(written.map((line) => line.id)).toEqual(written.map((_, index) => String(index + 1)));
  });

  it("is denied calls that no one can approve, with the reason and advice", async () => {
    const { result, model } = await walk([
      { calls: [{ name: "Bash", input: { command: "rm -rf notes.txt" } }] },
      { text: "I may not." },
    ]);
    expect(result.outcome).toBe("succeeded");
    expect(result.facts.denied).toHaveLength(1);
    expect(result.facts.denied[0]?.tool).toBe("Bash");
    // The library names options; the command line replaces them with its flags.
    expect(JSON.stringify(model.requests[1])).toContain("`allowedTools`");
    expect(JSON.stringify(model.requests[1])).not.toContain("--allowed-tools");
  });

  it("runs the calls that a user allows, and tells the model which calls were denied", async () => {
    const asked: string[] = [];
    const { result, model, cwd } = await walk(
      [
        {
          calls: [
            { name: "Write", input: { file_path: "yes.txt", content: "y" } },
            { name: "Write", input: { file_path: "no.txt", content: "n" } },
          ],
        },
        { text: "Done." },
      ],
      {
        approvals: {
          ask: async ({ call }) => {
            asked.push(call.inputJson);
            const yes = call.inputJson.includes("yes.txt");
            return yes ? { answer: "allow", by: "test" } : { answer: "deny", by: "test", message: "Not this one." };
          },
        },
      },
    );
    expect(asked).toHaveLength(2);
    expect(readFileSync(join(cwd, "yes.txt"), "utf8")).toBe("y");
    expect(JSON.stringify(model.requests[1])).toContain("Not this one.");
    expect(result.facts).toMatchObject({ filesChanged: ["yes.txt"], denied: [{ tool: "Write" }] });
  });

  it("returns results in call order", async () => {
    const { model } = await walk([
      {
        calls: [
          { name: "Read", input: { file_path: "missing.txt" } },
          { name: "Read", input: { file_path: "notes.txt" } },
          { name: "Nonsense", input: {} },
        ],
      },
      { text: "ok" },
    ]);
    const turn = model.requests[1]?.at(-1);
    expect(
      turn?.content.map((block) => (block.type === "tool_result" ? [block.callId, block.isError] : block.type)),
    ).toEqual([
      ["main_1_0", true],
      ["main_1_1", false],
      ["main_1_2", true],
    ]);
  });

  it("continues with the same bytes in a new session object", async () => {
    const first = await walk([
      { calls: [{ name: "Read", input: { file_path: "notes.txt" } }] },
      { text: "alpha, beta" },
    ]);
    const bodies: string[] = [];
    const second = await walk(
      [
        (messages) => {
          bodies.push(JSON.stringify(messages));
          return { text: "again" };
        },
      ],
      { home: first.home, cwd: first.cwd, resume: first.sessionId, say: "And now?" },
    );
    expect(second.result.outcome).toBe("succeeded");
    const before = JSON.stringify(first.model.requests[1]).slice(0, -1);
    expect(bodies[0]?.startsWith(before)).toBe(true);
    expect(linesOf(second.updates).some((line) => line.type === "head.set")).toBe(false);
  });

  it("stops immediately when it is interrupted, and can be resumed", async () => {
    const { home, cwd } = place();
    const model = createScriptedModel([{ text: "Thinking about it", hangs: true }]);
    const session = await openSession({ home, cwd, model });
    const run = session.prompt("Take your time.");
    for await (const update of run) if (update.type === "text.delta") run.stop("interrupted");
    const result = await run.result;
    await session.close();
    expect(result).toMatchObject({ outcome: "stopped", reason: "interrupted", text: "Thinking about it" });

    const resumed = await walk([{ text: "Going on." }], { home, cwd, resume: session.id, say: "Go on." });
    expect(resumed.result.outcome).toBe("succeeded");
    const turn = resumed.model.requests[0];
    expect(turn?.map((message) => message.role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(turn?.at(-1))).toContain("interrupted");
  });

  it("ends calls that have not started when it is interrupted", async () => {
    const { home, cwd } = place();
    const model = createScriptedModel([
      {
        calls: [
          { name: "Bash", input: { command: "sleep 30" } },
          { name: "Bash", input: { command: "echo late" } },
        ],
      },
    ]);
    const session = await openSession({ home, cwd, model, permissionMode: "bypassPermissions" });
    const run = session.prompt("Sleep.");
    const outcomes: string[] = [];
    for await (const update of run) {
      if (update.type === "tool.started") run.stop("interrupted");
      if (update.type === "tool.ended") outcomes.push(update.result.outcome);
    }
    expect((await run.result).reason).toBe("interrupted");
    expect(outcomes).toEqual(["cancelled", "cancelled"]);
    await session.close();
  });

  it("gets a loop warning at the third identical call and ends at the eighth", async () => {
    const again: ScriptedStep = { calls: [{ name: "Read", input: { file_path: "notes.txt" } }] };
    const { result, model } = await walk(Array.from({ length: 8 }, () => again));
    model.assertDone();
    expect(result).toMatchObject({ outcome: "incomplete", reason: "loop" });
    expect(JSON.stringify(model.requests[3]?.at(-1))).toContain("three times");
  });

  it("stops at its turn limit", async () => {
    const { result } = await walk([{ calls: [{ name: "LS", input: { path: "." } }] }], { maxTurns: 1 });
    expect(result).toMatchObject({ outcome: "incomplete", reason: "max_turns" });
  });

  it("is told in its last turn to give its answer, so that its run ends as done", async () => {
    const look: ScriptedStep = { calls: [{ name: "LS", input: { path: "." } }] };
    const answer: ScriptedStep = (messages) => {
      const isLast = JSON.stringify(messages.at(-1)).includes("This is the last of your 3 turns");
      return isLast ? { text: "Two notes." } : { calls: [{ name: "Read", input: { file_path: "notes.txt" } }] };
    };
    const { result, model } = await walk([look, answer, answer], { maxTurns: 3 });
    model.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Two notes.", turns: 3 });
    expect(JSON.stringify(model.requests[2]).match(/the last of your/g)).toHaveLength(1);
  });

  it("ends with one clear error if the model fails", async () => {
    const { result, updates } = await walk([
      { text: "half an ans", error: { code: "overloaded", message: "The provider is overloaded." } },
    ]);
    expect(result).toMatchObject({
      outcome: "failed",
      reason: "model_error",
      text: "half an ans",
      message: "The provider is overloaded.",
    });
    expect(linesOf(updates).filter((line) => line.type === "run.ended")).toHaveLength(1);
  });

  it("stores nothing on disk if requested", async () => {
    const { cwd } = place();
    const model = createScriptedModel([{ text: "hi" }]);
    const session = await openSession({ home: false, cwd, model });
    expect((await session.prompt("hi").result).outcome).toBe("succeeded");
    expect(session.transcriptPath).toBeUndefined();
    await session.close();
  });
});
