import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Session, SessionOptions } from "../../src/app/index.ts";
import { type Line, noUsage } from "../../src/protocol/index.ts";
import { type RecordedRequest, type Reply, systemOf } from "../../src/testing/index.ts";
import { transcriptsIn } from "./delegation-place.ts";
import { forkCall, messagesIn, one, prefixOf, type Stage, saying, stage, toolResults, unmarked } from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };
const done: Reply = { content: "Done." };
const judge = { description: "Judges. Use it to judge.", prompt: "You are a judge.", tools: ["Read"] };

const open = (on: Stage, options: SessionOptions = {}): Promise<Session> =>
  on.open({ model: "claude-opus-5-5", trusted: false, ...options });

async function ask(session: Session, ...prompts: readonly string[]): Promise<void> {
  for (const prompt of prompts) expect(await session.prompt(prompt).result).toMatchObject({ outcome: "succeeded" });
}

/** Returns which responses in a request contain thinking. */
function thoughtIn(request: RecordedRequest | undefined): readonly boolean[] {
  return messagesIn(one(request))
    .filter(({ role }) => role === "assistant")
    .map(({ content }) => content.some(({ type }) => type === "thinking" || type === "redacted_thinking"));
}

/** Checks that no request was refused. */
function expectAccepted({ server }: Stage): void {
  expect(server.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
}

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe("thinking is sent back", () => {
  it("as long as the conversation only grows: in tool loops, later prompts and after a resume", async () => {
    const on = await stage({
      MAIN: saying({ content: [read] }, { content: [{ redactedThinking: "hidden" }, read] }, done, done, done),
    });
    const session = await open(on);
    await ask(session, "MAIN: look.", "again");
    await session.close();
    const again = await open(on, { resume: session.id });
    await ask(again, "and again");
    await again.close();
    expectAccepted(on);
    expect(on.requests("MAIN").map((request) => thoughtIn(request))).toEqual([
      [],
      [true],
      [true, true],
      [true, true, true],
      [true, true, true, true],
    ]);
  });

  it("in forks, which have the bytes of their origin's conversation", async () => {
    const on = await stage({
      MAIN: saying({ content: [read] }, { content: [forkCall("ONE: a"), forkCall("TWO: b")] }, done, done),
      ONE: saying({ content: [read] }, { content: "One." }),
      TWO: saying({ content: "Two." }),
    });
    const session = await open(on);
    await ask(session, "MAIN: split.");
    await session.close();
    expectAccepted(on);
    const before = one(on.requests("MAIN")[1]);
    for (const part of ["ONE", "TWO"])
      expect(unmarked(one(on.requests(part)[0])).startsWith(prefixOf(before))).toBe(true);
    expect(thoughtIn(on.requests("ONE")[1])).toEqual([true, true, true]);
  });

  it("after AGENTS.md has changed between two prompts, which a later message reports", async () => {
    const on = await stage({ MAIN: saying(done, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    put(join(on.home, ".agents/AGENTS.md"), "Use tabs.\n");
    await ask(session, "two", "three");
    await session.close();
    expectAccepted(on);
    expect(JSON.stringify(messagesIn(one(on.requests("MAIN")[1])).at(-1))).toContain("Use tabs.");
    expect(thoughtIn(on.requests("MAIN")[2])).toEqual([true, true]);
  });

  it("after a rewind", async () => {
    const on = await stage({ MAIN: saying(done, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one", "two");
    const prompts = await session.prompts();
    await session.rewind(prompts[1]?.id ?? "");
    await ask(session, "another two");
    await session.close();
    expectAccepted(on);
    expect(thoughtIn(on.requests("MAIN")[2])).toEqual([true]);
  });

  it("after a switch to another model and back", async () => {
    const on = await stage({ MAIN: saying(done, done, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    await session.setModel("claude-fable-5-1");
    await ask(session, "two");
    await session.setModel("claude-opus-5-5");
    await ask(session, "three", "four");
    await session.close();
    expectAccepted(on);
    expect(on.requests("MAIN").map((request) => thoughtIn(request))).toEqual([
      [],
      [true],
      [true, true],
      [true, true, true],
    ]);
  });

  it("after an agent file was added between two prompts", async () => {
    const on = await stage({ MAIN: saying({ content: [read] }, done, { content: [read] }, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    put(join(on.home, ".agents/agents/poet.md"), poet);
    await ask(session, "two", "three");
    await session.close();
    expectAccepted(on);
    expect(on.requests("MAIN").map((request) => thoughtIn(request))).toEqual([
      [],
      [true],
      [true, true],
      [true, true, true],
      [true, true, true, true],
    ]);
  });

  it("if instructions changed while the session was closed, also if its process ended while calls were open", async () => {
    const on = await stage({ MAIN: saying({ content: [read] }, { content: [read] }, done, done) });
    const session = await open(on);
    const run = session.prompt("MAIN: one");
    for await (const update of run) if (update.type === "model.ended" && update.turn === 2) break;
    await session.park();
    put(join(on.cwd, "AGENTS.md"), "Use tabs.\n");
    const again = await open(on, { resume: session.id, trusted: true });
    await ask(again, "two");
    await again.close();
    expectAccepted(on);
    expect(thoughtIn(on.requests("MAIN").at(-1))).toEqual([true, true]);
  });
});

describe("thinking is left out", () => {
  it("for an agent with forkContext", async () => {
    const on = await stage({
      MAIN: saying({ content: [read] }, { content: [forkCall("judge it", { subagent_type: "judge" })] }, done, done),
    });
    const session = await open(on, { agents: { judge: { ...judge, forkContext: true } } });
    await ask(session, "MAIN: go");
    await session.close();
    expectAccepted(on);
    expect(on.server.requests.map((request) => thoughtIn(request))).toEqual([[], [true], [false, false], [true, true]]);
  });

  it("in a fork with only the newest turns", async () => {
    const on = await stage({
      MAIN: saying(
        { content: [read] },
        { content: [{ tool: "LS", input: { path: "." } }] },
        { content: [forkCall("ONE: go", { context_turns: 2 })] },
        done,
      ),
      ONE: saying({ content: [read] }, { content: "gone" }),
    });
    const session = await open(on);
    await ask(session, "MAIN: go");
    await session.close();
    expectAccepted(on);
    expect(on.requests("ONE").map((request) => thoughtIn(request))).toEqual([
      [false, false],
      [false, false, true],
    ]);
  });

  it("from the turns that a compaction between two prompts keeps", async () => {
    const on = await stage({
      MAIN: saying({ content: [read] }, done, { content: "Goal: look." }, { content: [read] }, done),
    });
    const session = await open(on, { model: "claude-sonnet-5-5" });
    await ask(session, "MAIN: look.");
    expect(await session.compact().result).toMatchObject({ outcome: "succeeded" });
    await ask(session, "next");
    await session.close();
    expectAccepted(on);
    const [, , , next, last] = on.requests("MAIN");
    expect(JSON.stringify(messagesIn(one(next)))).toContain("Goal: look.");
    expect(thoughtIn(next)).not.toContain(true);
    expect(thoughtIn(last).at(-1)).toBe(true);
  });
});

const poet = "---\nname: poet\ndescription: Rhymes. Use when asked for a rhyme.\ntools: Read\n---\nYou rhyme.\n";

describe("a compaction in the middle of a run", () => {
  it("tells the model the calls and results that it has not seen yet as text", async () => {
    const on = await stage({
      MAIN: saying(
        { content: [{ tool: "Read", input: { file_path: "a.txt" } }] },
        { content: ["Now b.", { tool: "Read", input: { file_path: "b.txt" } }] },
        { content: "Goal: read a and b." },
        { content: [read] },
        done,
      ),
    });
    for (const name of ["a.txt", "b.txt"]) put(join(on.cwd, name), `${name.repeat(5)} is here.\n`.repeat(600));
    const session = await open(on, {
      model: "claude-sonnet-5-5",
      settings: { providers: { anthropic: { window: 18_000, maxOutputTokens: 2000 } } },
    });
    await ask(session, "MAIN: read.");
    await session.close();
    expectAccepted(on);
    expect(on.requests("MAIN")).toHaveLength(5);
    const after = messagesIn(one(on.requests("MAIN")[3]));
    expect(after.map(({ role }) => role)).not.toContain("assistant");
    const text = JSON.stringify(after);
    expect(text).toContain("Goal: read a and b.");
    expect(text).toContain("Now b.");
    expect(text).toContain('\\"file_path\\":\\"b.txt\\"');
    expect(text.match(/(b\.txt){5} is here/g)).toHaveLength(600);
    expect(toolResults(on.requests("MAIN")[4])[0]).toContain("alpha");
  });

  it("also does so if the provider has rejected the results as too long", async () => {
    const overflow = {
      kind: "status",
      status: 400,
      message: "prompt is too long: 200001 tokens > 200000 maximum",
    } as const;
    const on = await stage({
      MAIN: saying(
        { content: [read] },
        { content: ["Now the list.", { tool: "LS", input: { path: "." } }] },
        { content: "", fault: overflow },
        { content: "Goal: look." },
        done,
      ),
    });
    const session = await open(on, { model: "claude-sonnet-5-5" });
    await ask(session, "MAIN: read.");
    await session.close();
    expectAccepted(on);
    const after = messagesIn(one(on.requests("MAIN")[4]));
    expect(after.map(({ role }) => role)).not.toContain("assistant");
    expect(JSON.stringify(after)).toMatch(/Now the list\..*LS .*notes\.txt/s);
  });
});

describe("a request whose thinking is refused", () => {
  it("is sent again without thinking, with a notice, and the session remembers it", async () => {
    const on = await stage({ MAIN: saying({ content: [read] }, done, { content: [read] }, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    await session.close();
    edit(session, "MAIN: one", "MAIN: uno");
    const again = await open(on, { resume: session.id });
    const run = again.prompt("two");
    const lines: Line[] = [];
    for await (const update of run) if ("id" in update) lines.push(update);
    expect(await run.result).toMatchObject({ outcome: "succeeded", turns: 2 });
    await again.close();
    const last = await open(on, { resume: session.id });
    await ask(last, "three");
    await last.close();
    expect(on.server.requests.map(({ status }) => status)).toEqual([200, 200, 400, 200, 200, 200]);
    expect(on.server.requests.slice(2).map((request) => thoughtIn(request))).toEqual([
      [true, true],
      [false, false],
      [false, false, true],
      [false, false, true, true],
    ]);
    expect(lines).toContainEqual(expect.objectContaining({ type: "thinking.dropped", resends: 3 }));
    expect(lines).toContainEqual(
      expect.objectContaining({ type: "notice.raised", code: "thinking", message: expect.stringContaining("refused") }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ type: "cache.missed", dimension: "messages", turn: 3 }));
    expect(lines.filter(({ type }) => type === "model.failed")).toEqual([]);
  });

  it("is sent again once: if it is refused again, the run ends and can be resumed", async () => {
    const refused = {
      kind: "status",
      status: 400,
      message: "The block is bound to a different conversation.",
    } as const;
    const on = await stage({ MAIN: (turn) => (turn === 2 || turn === 3 ? { content: "", fault: refused } : done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    const failed = await session.prompt("two").result;
    expect(failed).toMatchObject({ outcome: "failed", reason: "model_error", turns: 1, usage: noUsage });
    await ask(session, "three");
    await session.close();
    expect(on.server.requests.map(({ status }) => status)).toEqual([200, 400, 400, 200]);
    expect(thoughtIn(on.requests("MAIN")[3])).toEqual([false]);
  });

  it("may be refused in the middle of a stream", async () => {
    const message = "messages.1.content.0: Invalid `signature`. The block is bound to a different conversation.";
    const fault = { kind: "error-event", afterEvents: 1, errorType: "invalid_request_error", message } as const;
    const on = await stage({ MAIN: saying(done, { content: "", fault }, done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one", "two", "three");
    await session.close();
    expect(on.requests("MAIN").map((request) => thoughtIn(request))).toEqual([[], [true], [false], [false, true]]);
  });

  it("may be left out by the provider itself, which is recorded, and the session remembers it", async () => {
    const drop = { type: "thinking_dropped", path: "messages.1.content.0", reason: "prefix_binding_mismatch" } as const;
    const on = await stage({ MAIN: saying(done, { ...done, inputTransformations: [drop] }, done) });
    const session = await open(on);
    await ask(session, "MAIN: one", "two", "three");
    await session.close();
    expect(on.requests("MAIN").map((request) => thoughtIn(request))).toEqual([[], [true], [false, true]]);
    const lines = readFileSync(session.transcriptPath ?? "", "utf8");
    expect(lines).toContain(JSON.stringify([drop]));
    expect(lines).toMatch(/anthropic left out the model's earlier thinking/);
    expectAccepted(on);
  });

  it("may be left out because another model can't read it, which is only recorded", async () => {
    const headers = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };
    const on = await stage({ MAIN: saying(done, done, done) });
    const session = await open(on, { model: "claude-fable-5-1", settings: { providers: { anthropic: { headers } } } });
    await ask(session, "MAIN: one");
    await session.setModel("claude-opus-5-5");
    await ask(session, "two", "three");
    await session.close();
    expectAccepted(on);
    expect(on.requests("MAIN").map((request) => thoughtIn(request))).toEqual([[], [true], [true, true]]);
    const lines = readFileSync(session.transcriptPath ?? "", "utf8");
    expect(lines.match(/"reason":"model_binding_mismatch"/g)).toHaveLength(2);
    expect(lines).not.toContain("earlier thinking");
  });

  it("costs what the accepted attempt costs, and fits into the budget", async () => {
    const on = await stage({ MAIN: saying(done, done) });
    const session = await open(on);
    await ask(session, "MAIN: one");
    await session.close();
    edit(session, "MAIN: one", "MAIN: uno");
    const again = await open(on, { resume: session.id, settings: { budget: { turns: 2 } } });
    const result = await again.prompt("two").result;
    await again.close();
    const accepted = one(on.requests("MAIN")[1]).cache;
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = result.usage;
    expect(result).toMatchObject({ outcome: "succeeded", turns: 1 });
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe(accepted?.prompt);
    expect(result.costUsd).toBeGreaterThan(0);
  });

  it("may be the request for a summary", async () => {
    const on = await stage({ MAIN: saying(done, done, { content: "Goal: count." }, done) });
    const session = await open(on);
    await ask(session, "MAIN: one", "two");
    await session.close();
    edit(session, "MAIN: one", "MAIN: uno");
    const again = await open(on, { resume: session.id });
    expect(await again.compact().result).toMatchObject({ outcome: "succeeded" });
    await ask(again, "three");
    await again.close();
    expect(on.server.requests.map(({ status }) => status)).toEqual([200, 200, 400, 200, 200]);
    expect(JSON.stringify(messagesIn(one(on.requests("MAIN")[3])))).toContain("Goal: count.");
  });

  it("may be that of a subagent, whose caller is not affected", async () => {
    const task = (prompt: string, more = {}) => ({
      tool: "Task",
      input: { description: "work", prompt, subagent_type: "judge", ...more },
    });
    const isJudge = (request: RecordedRequest) => systemOf(request).includes("You are a judge.");
    const on = await stage({
      MAIN: (_, request) => {
        if (isJudge(request)) return { content: "Judged." };
        const last = JSON.stringify(messagesIn(request).at(-1));
        if (!/MAIN: one|two/.test(last)) return done;
        const id = /id=\\"(a\w+)/.exec(JSON.stringify(messagesIn(request)))?.[1];
        return { content: [id === undefined ? task("judge it") : task("again", { resume: id })] };
      },
    });
    const session = await open(on, { agents: { judge } });
    await ask(session, "MAIN: one");
    await session.close();
    const [[file = ""] = []] = transcriptsIn(on, session.id);
    const path = join(dirname(session.transcriptPath ?? ""), session.id, "subagents", file);
    edit({ transcriptPath: path }, "judge it", "judge all");
    const again = await open(on, { resume: session.id, agents: { judge } });
    await ask(again, "two");
    await again.close();
    const judged = on.server.requests.filter(isJudge);
    expect(judged.map(({ status }) => status)).toEqual([200, 400, 200]);
    expect(on.server.requests.filter((request) => !isJudge(request)).map(({ status }) => status)).not.toContain(400);
    const types = transcriptsIn(on, session.id)
      .get(file)
      ?.map(({ type }) => type);
    expect(types).toContain("thinking.dropped");
  });
});

describe("a resumed fork whose origin's conversation has changed", () => {
  it("sends none of its old thinking, which can't be valid any more", async () => {
    const on = await stage({
      MAIN: saying({ content: [forkCall("ONE: a")] }, done),
      ONE: saying({ content: [read] }, { content: "One." }, { content: [read] }, { content: "One more." }),
    });
    const session = await open(on);
    await ask(session, "MAIN: split.");
    await session.close();
    edit(session, "MAIN: split.", "MAIN: divide.");
    const again = await open(on, { resume: session.id });
    const [fork = ""] = [...transcriptsIn(on, session.id).keys()].map((file) => /a\w{12}/.exec(file)?.[0]);
    await again.subagents.message(fork, "go on");
    expect(await again.subagents.wait(fork)).toMatchObject({ outcome: "succeeded", text: "One more." });
    await again.close();
    const [, , resumed, last] = on.requests("ONE");
    expect(thoughtIn(resumed)).toEqual([false, false, false]);
    expect(thoughtIn(last)).toEqual([false, false, false, true]);
    expectAccepted(on);
  });
});

/** Changes text in the transcript of a closed session, so that its conversation differs from what was sent. */
function edit({ transcriptPath = "" }: Pick<Session, "transcriptPath">, from: string, to: string): void {
  const before = readFileSync(transcriptPath, "utf8");
  if (!before.includes(from)) throw new Error(`the transcript does not contain "${from}"`);
  writeFileSync(transcriptPath, before.replaceAll(from, to));
}
