import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FORK_INTRODUCTION, type Line, runtimeText } from "../../src/protocol/index.ts";
import type { RecordedRequest } from "../../src/testing/index.ts";
import { transcriptsIn } from "./delegation-place.ts";
import {
  forkCall,
  introduction,
  messagesIn,
  one,
  play,
  prefixOf,
  type Stage,
  saying,
  stage,
  taskOf,
  toolResults,
  unmarked,
} from "./fork-place.ts";

const read = { tool: "Read", input: { file_path: "notes.txt" } };
/** Returns everything before the directive, including the placeholders and the introduction for every fork. */
const sharedPart = (request: RecordedRequest): string => `${unmarked(request).split(introduction)[0]}${introduction}`;

describe("a fork", () => {
  it("has its origin's conversation, byte for byte, and reports to it", async () => {
    const on = await stage({
      MAIN: saying(
        { content: [read] },
        { content: ["Split.", forkCall("ONE: count them")] },
        { content: "There are two." },
      ),
      ONE: saying({ content: [read] }, { content: "I counted two." }),
    });
    const { result, session } = await play(on);
    expect(result).toMatchObject({ outcome: "succeeded", text: "There are two." });
    expect(toolResults(on.requests("MAIN")[2])[0]).toContain("I counted two.");
    const before = one(on.requests("MAIN")[1]);
    const [first, second] = on.requests("ONE").map(one);
    expect(unmarked(one(first)).startsWith(prefixOf(before))).toBe(true);
    expect(unmarked(one(second)).startsWith(prefixOf(one(first)))).toBe(true);
    const [answer, turn, ...more] = messagesIn(one(first)).slice(messagesIn(before).length);
    expect(more).toEqual([]);
    expect(answer?.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use"]);
    expect(turn?.content.map(({ type }) => type)).toEqual(["tool_result", "text", "text"]);
    expect(turn?.content.slice(1).map(({ text }) => text)).toEqual([FORK_INTRODUCTION, "ONE: count them"]);
    // The ids of the fork's calls differ from those of its origin's calls.
    expect(unmarked(one(second)).match(/(?<="tool_use","id":")\w+/g)).toEqual(["m1_0", "m2_0", "a3_0"]);
    // The fork's transcript refers to its origin's conversation but does not contain it.
    const [[, lines = []] = []] = transcriptsIn(on, session.id);
    expect(lines.map(({ type }) => type).slice(0, 5)).toEqual([
      "agent.created",
      "head.set",
      "run.started",
      "context.added",
      "prompt.received",
    ]);
    expect(lines[0]).toMatchObject({ agentType: "fork", fork: { kind: "fork", agentId: "main", calls: ["main_2_0"] } });
    expect(lines[2]).toMatchObject({ kind: "fork" });
    expect(JSON.stringify(lines.slice(0, 6))).not.toContain("alpha");
    expect(linesOfMain(on, session.id)).toContainEqual(
      expect.objectContaining({ type: "agent.spawned", agentType: "fork", status: "sub_agent_entered" }),
    );
  });

  it("shares everything but its directive with its siblings: the first writes the cache, the others read it", async () => {
    const forks = ["ONE", "TWO", "THREE"];
    const on = await stage({
      MAIN: saying(
        { content: [read] },
        { content: ["Three at once.", ...forks.map((name) => forkCall(`${name}: its part`))] },
        { content: "All done." },
      ),
      ...Object.fromEntries(
        forks.map((name) => [name, saying({ content: `${name} is done.`, pacing: { delayMs: 60 } })]),
      ),
    });
    const { result } = await play(on);
    expect(result.text).toBe("All done.");
    expect(toolResults(on.requests("MAIN")[2])).toHaveLength(3);
    const parent = one(on.requests("MAIN")[1]);
    const firsts = forks.map((name) => one(on.requests(name)[0])).sort((left, right) => left.ordinal - right.ordinal);
    const [leader, ...others] = firsts.map(one);
    const shared = sharedPart(one(leader));
    expect(shared.startsWith(prefixOf(parent))).toBe(true);
    expect(shared.match(/\[forked\]/g)).toHaveLength(3);
    for (const other of others) expect(sharedPart(other)).toBe(shared);
    for (const other of others) expect(other.beganAt).toBeGreaterThanOrEqual(one(leader).firstByteAt ?? Infinity);
    const inS = one(leader).cache?.written ?? 0;
    expect(one(leader).cache).toMatchObject({ read: parent.cache?.prompt, missed: 0 });
    for (const { cache } of others) {
      if (!cache) throw new Error("no account");
      const sharedTokens = (one(leader).cache?.prompt ?? 0) - directiveTokens;
      expect(cache.missed).toBe(0);
      expect(cache.read).toBeGreaterThanOrEqual(sharedTokens * 0.999);
      expect(cache.written).toBeLessThan(inS);
    }
  });
});

describe.each(["openai", "responses", "gemini"] as const)("a fork over the %s wire format", (wire) => {
  it("also has the same bytes as its origin and its siblings", async () => {
    const on = await stage(
      {
        MAIN: saying({ content: [read] }, { content: [forkCall("ONE: a"), forkCall("TWO: b")] }, { content: "Both." }),
        ONE: saying({ content: [read] }, { content: "One." }),
        TWO: saying({ content: "Two." }),
      },
      { wire },
    );
    const { result } = await play(on);
    expect(result.text).toBe("Both.");
    expect(on.server.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
    const messagesEnd = (request: RecordedRequest): string =>
      unmarked(request).replace(/\],"(max_|generationConfig)[^\]]*$/, "");
    const [first, second] = on.requests("ONE").map(one);
    const before = messagesEnd(one(on.requests("MAIN")[1]));
    const shared = sharedPart(one(first));
    expect(shared.startsWith(before)).toBe(true);
    expect(unmarked(one(on.requests("TWO")[0])).startsWith(shared)).toBe(true);
    expect(unmarked(one(second)).startsWith(messagesEnd(one(first)))).toBe(true);
    expect(shared.match(/\[forked\]/g)).toHaveLength(2);
  });
});

describe("a fork's permissions", () => {
  it("are its origin's, except delegation; withheld tools stay declared and return an error", async () => {
    const on = await stage({
      MAIN: saying({ content: [forkCall("ONE: try", { subagent_type: "fork" })] }, { content: "ok" }),
      ONE: saying(
        {
          content: [
            forkCall("TWO: deeper"),
            forkCall("and deeper", { subagent_type: "general-purpose" }),
            { tool: "Write", input: { file_path: "new.txt", content: "x" } },
            read,
          ],
        },
        { content: "tried" },
      ),
    });
    const { updates } = await play(on, { disallowedTools: ["Write(new.txt)"] });
    const [first, second] = on.requests("ONE");
    expect(toolsOf(one(first))).toEqual(toolsOf(one(on.requests("MAIN")[0])));
    expect(toolsOf(one(first))).toContain("Task");
    const [task, other, write, file] = toolResults(second);
    expect(task).toContain("Task was not run.");
    expect(other).toContain("Task was not run.");
    expect(write).toContain("Write was not run.");
    expect(file).toContain("alpha");
    expect(updates.filter((update) => update.type === "agent.spawned")).toHaveLength(1);
  });

  it("include changing files that its origin has read, unless they have changed since", async () => {
    const change = (to: string) => ({
      tool: "Edit",
      input: { file_path: "notes.txt", old_string: "beta", new_string: to },
    });
    const on = await stage({
      MAIN: saying(
        { content: [read] },
        { content: [forkCall("ONE: go")] },
        { content: [forkCall("TWO: go")] },
        { content: "ok" },
      ),
      ONE: saying({ content: [change("gamma")] }, { content: "changed" }),
      TWO: saying({ content: [change("delta")] }, { content: "not changed" }),
    });
    await play(on, { permissionMode: "acceptEdits" });
    expect(readFileSync(join(on.cwd, "notes.txt"), "utf8")).toBe("alpha\ngamma\n");
    expect(toolResults(on.requests("TWO")[1])[0]).toContain("notes.txt has changed since you read it.");
  });

  it("stay the same after its conversation has been compacted", async () => {
    const on = await stage({
      MAIN: saying({ content: [forkCall("ONE: long")] }, { content: "ok" }),
      ONE: saying(
        { content: ["Reading.", read, { tool: "Read", input: { file_path: "notes.txt", offset: 2 } }] },
        { content: "Nothing but alpha, many times." },
        { content: [forkCall("TWO: deeper")] },
        { content: "tried" },
      ),
    });
    writeFileSync(join(on.cwd, "notes.txt"), "alpha beta gamma delta epsilon\n".repeat(2000));
    const { result, updates } = await play(on, { settings: { compaction: { percent: 1 } } });
    expect(result.outcome).toBe("succeeded");
    const types = updates.flatMap((update) => (update.type === "subagent.event" ? [update.event.type] : []));
    expect(types).toContain("conversation.compacted");
    expect(toolResults(on.requests("ONE")[3])[0]).toContain("Task was not run.");
    // The model still knows that it is a fork.
    expect(unmarked(one(on.requests("ONE").at(-1)))).toContain("You are a fork of the agent above");
  });

  it("can be restricted to the tools that its call names, or to read-only tools", async () => {
    const write = { tool: "Write", input: { file_path: "new.txt", content: "x" } };
    const on = await stage({
      MAIN: saying(
        {
          content: [
            forkCall("ONE: look", { read_only: true }),
            forkCall("TWO: read", { allowed_tools: ["read_file"] }),
            forkCall("THREE: no", { allowed_tools: ["Raed"] }),
          ],
        },
        { content: "ok" },
      ),
      ONE: saying({ content: [write, read] }, { content: "looked" }),
      TWO: saying({ content: [{ tool: "LS", input: { path: "." } }, read] }, { content: "read" }),
    });
    await play(on, { permissionMode: "acceptEdits" });
    const results = (part: string) => toolResults(on.requests(part)[1]);
    expect(results("ONE")).toEqual([
      expect.stringContaining("Files can't be changed in plan mode"),
      expect.stringContaining("alpha"),
    ]);
    expect(results("TWO")).toEqual([expect.stringContaining("LS was not run"), expect.stringContaining("alpha")]);
    expect(results("MAIN")[2]).toContain("allowed_tools lists tools that this fork can't have: Raed.");
    expect(toolsOf(one(on.requests("TWO")[0]))).toEqual(toolsOf(one(on.requests("MAIN")[0])));
  });

  it("include only background tools if it runs in the background, and a notice reports its end", async () => {
    const on = await stage({
      MAIN: saying(
        { content: [forkCall("ONE: slowly", { run_in_background: true })] },
        { content: "Meanwhile." },
        { content: "It is done." },
      ),
      ONE: saying({ content: [read] }, { content: "The slow answer." }),
    });
    const { result } = await play(on);
    expect(result.text).toBe("It is done.");
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain("is running in the background");
    const told = messagesIn(one(on.requests("MAIN")[2]))
      .at(-1)
      ?.content.map(({ text }) => text)
      .join("");
    expect(told).toContain('<task_notification agent="fork"');
    expect(told).toContain("The slow answer.");
  });
});

describe("a fork with only the newest turns", () => {
  it("does not get the other turns, and its transcript records the cost", async () => {
    const on = await stage({
      MAIN: saying(
        { content: ["First look.", read] },
        { content: ["Second look.", { tool: "LS", input: { path: "." } }] },
        { content: ["Now.", forkCall("ONE: go", { context_turns: 2 }), forkCall("TWO: go", { context_turns: 9 })] },
        { content: "ok" },
      ),
      ONE: saying({ content: "gone" }),
      TWO: saying({ content: "gone too" }),
    });
    const { session } = await play(on);
    const [words, answer] = messagesIn(one(on.requests("ONE")[0]));
    expect(words?.content[0]?.text).toBe(runtimeText("Earlier turns of this conversation are omitted."));
    expect(answer?.content[0]?.text).toBe("Second look.");
    const transcripts = [...transcriptsIn(on, session.id).values()];
    const missed = transcripts.filter((lines) => lines.some(({ type }) => type === "cache.missed"));
    const lines = missed[0] ?? [];
    expect(lines).toContainEqual(expect.objectContaining({ type: "cache.missed", dimension: "messages", turn: 1 }));
    expect(lines).toContainEqual(
      expect.objectContaining({ type: "notice.raised", message: expect.stringContaining("the 2 newest turns") }),
    );
    // A fork that asks for more turns than exist gets the whole conversation and misses nothing in the cache.
    expect([transcripts.length, missed.length]).toEqual([2, 1]);
    expect(unmarked(one(on.requests("TWO")[0])).startsWith(prefixOf(one(on.requests("MAIN")[2])))).toBe(true);
  });
});

describe("an agent with forkContext", () => {
  it("has its own prompt and tools, and its caller's messages", async () => {
    const on = await stage({
      MAIN: saying(
        { content: [read] },
        { content: [forkCall("judge it", { subagent_type: "judge" })] },
        { content: "ok" },
      ),
    });
    const judge = { description: "Judges.", prompt: "You are a judge.", tools: ["Read"], forkContext: true };
    const { session } = await play(on, { agents: { judge } });
    const asked = one(on.server.requests[2]);
    expect(toolsOf(asked)).toEqual(["Read"]);
    expect(JSON.stringify(asked.body)).toContain("You are a judge.");
    expect(messagesIn(asked).slice(0, 3)).toMatchObject(
      messagesIn(one(on.requests("MAIN")[1])).map(({ role }) => ({ role })),
    );
    expect(messagesIn(asked).at(-1)?.content.at(-1)?.text).toBe("judge it");
    const [[, lines = []] = []] = transcriptsIn(on, session.id);
    expect(lines[0]).toMatchObject({ agentType: "judge", fork: { kind: "context" } });
    expect(lines).toContainEqual(expect.objectContaining({ type: "cache.missed", dimension: "tools_model_thinking" }));
  });
});

describe("forks", () => {
  it.each([
    ["a model", { model: "small" }, /uses its conversation's model/],
    ["a copy", { isolation: "worktree" }, /works in its parent's directory/],
    ["a limit for another type", { subagent_type: "Explore", read_only: true }, /read_only is only for forks/],
  ])("are refused with %s", async (_, more, why) => {
    const on = await stage({ MAIN: saying({ content: [forkCall("ONE: x", more)] }, { content: "ok" }) });
    await play(on);
    expect(toolResults(on.requests("MAIN")[1])[0]).toMatch(why);
    expect(on.server.requests).toHaveLength(2);
  });

  it.each([
    ["if they are off", { settings: { fork: "off" as const } }],
    ["by default without a user", { settings: { fork: "auto" as const } }],
    ["for a coordinator", { coordinator: true }],
  ])("are not available %s, and a missing type is reported with the available types", async (_, options) => {
    const on = await stage({ MAIN: saying({ content: [forkCall("ONE: x")] }, { content: "ok" }) });
    await play(on, options);
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain("subagent_type is missing. Available agents:");
    expect(on.requests("MAIN")[0]?.rawBody.includes("fork")).toBe(false);
  });

  it("are not started if a limit is misspelled", async () => {
    const limited = [{ readOnly: true }, { allowedTools: ["Read"] }, { Isolation: "worktree" }];
    const calls = limited.map((limit) => forkCall("ONE: x", limit));
    const on = await stage({ MAIN: saying({ content: calls }, { content: "ok" }), ONE: saying({ content: "done" }) });
    await play(on);
    expect(on.requests("ONE")).toEqual([]);
    const results = toolResults(on.requests("MAIN")[1]);
    expect(results.map((text) => /did you mean "?`?(\w+)/i.exec(text)?.[1])).toEqual([
      "read_only",
      "allowed_tools",
      "isolation",
    ]);
  });

  it("are not started as unlimited agents if they are off", async () => {
    const limited = forkCall("ONE: x", { subagent_type: "Explore", read_only: true });
    const on = await stage({ MAIN: saying({ content: [limited] }, { content: "ok" }) });
    await play(on, { settings: { fork: "off" } });
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain(
      "read_only is only for forks: omit it. Forks are off in this session.",
    );
  });

  it("are on by default if a user is present, and work in the background", async () => {
    const wait = (request: RecordedRequest) => {
      const task_id = /agentId: (\w+)/.exec(toolResults(request)[0] ?? "")?.[1];
      return { content: [{ tool: "TaskOutput", input: { task_id, block: true } }] };
    };
    const on = await stage({
      MAIN: (turn, request) =>
        turn === 1 ? { content: [forkCall("ONE: x")] } : turn === 2 ? wait(request) : { content: "ok" },
      ONE: saying({ content: "done" }),
    });
    await play(on, { settings: { fork: "auto" }, interactive: true });
    expect(taskOf(one(on.requests("MAIN")[0])).description).toContain("A fork works in the background");
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain("is running in the background");
    expect(toolResults(on.requests("MAIN")[2])[0]).toContain("done");
  });

  it("are waited for if a user is present but background agents are off", async () => {
    const on = await stage({
      MAIN: saying({ content: [forkCall("ONE: x")] }, { content: "ok" }),
      ONE: saying({ content: "done" }),
    });
    await play(on, { settings: { subagents: { background: false } }, interactive: true });
    expect(taskOf(one(on.requests("MAIN")[0])).description).not.toContain("A fork works in the background");
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain("done");
  });

  it("are refused and not offered if a rule denies them by name", async () => {
    const on = await stage({ MAIN: saying({ content: [forkCall("ONE: x")] }, { content: "ok" }) });
    await play(on, { disallowedTools: ["Task(fork)"] });
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain("Task(fork)");
    expect(taskOf(one(on.requests("MAIN")[0])).types).not.toContain("fork");
  });
});

describe("forks without any other agent", () => {
  const names = ["general-purpose", "Explore", "Plan", "Bash", "statusline-setup", "retinue-guide", "Verification"];
  const agents = Object.fromEntries(names.map((name) => [name, false]));

  it("are offered by Task, because they need no definition", async () => {
    const on = await stage({
      MAIN: saying({ content: [forkCall("ONE: x")] }, { content: "ok" }),
      ONE: saying({ content: "done" }),
    });
    await play(on, { settings: { agents } });
    const { types, description } = taskOf(one(on.requests("MAIN")[0]));
    expect(types).toEqual(["fork"]);
    expect(description).not.toContain("Agents:");
    expect(toolResults(on.requests("MAIN")[1])[0]).toContain("done");
  });

  it("are not offered, and Task is absent, if they are off or denied", async () => {
    for (const options of [{ settings: { agents, fork: "off" as const } }, { disallowedTools: ["Task(fork)"] }]) {
      const on = await stage({ MAIN: saying({ content: "ok" }) });
      await play(on, { settings: { agents }, ...options });
      expect(toolsOf(one(on.requests("MAIN")[0]))).not.toContain("Task");
    }
  });
});

function toolsOf({ body }: RecordedRequest): readonly string[] {
  return (body as { readonly tools: readonly { readonly name: string }[] }).tools.map(({ name }) => name);
}

/** Maximum number of tokens in a fork's own directive, as the test server counts them. */
const directiveTokens = 12;

function linesOfMain({ home }: Stage, sessionId: string): readonly Line[] {
  const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
  const text = readFileSync(join(project, `${sessionId}.jsonl`), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
