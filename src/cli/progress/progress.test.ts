import { describe, expect, it } from "vitest";
import { created, fromAgent, runEnded, started } from "../../client/view/agent-events.test-support.ts";
import { type DurableEvent, noUsage, type RunUpdate } from "../../protocol/index.ts";
import { displayWidth } from "../fit-line.ts";
import { createAgentViews } from "./agent-views.ts";
import { createProgress, type Progress } from "./progress.ts";
import { createTerminal } from "./terminal.test-support.ts";

function line(event: DurableEvent): RunUpdate {
  return { v: 1, id: "1", parentId: null, at: 0, ...event };
}

function answer(inputJson?: string): RunUpdate {
  const call = { type: "tool_call", callId: "c", name: "Read", inputJson: inputJson ?? "" } as const;
  return line({
    type: "model.ended",
    turn: 1,
    message: { role: "assistant", content: inputJson === undefined ? [] : [call] },
    stopReason: "tool_calls",
    incompleteCalls: 0,
    usage: { ...noUsage, inputTokens: 1_200, outputTokens: 34 },
    milliseconds: 5,
  });
}

const requested = line({ type: "tool.requested", callId: "c", name: "Read" });
const ended = line({
  type: "tool.ended",
  callId: "c",
  name: "Read",
  result: { outcome: "ok", content: [] },
  milliseconds: 12,
});

function watch(options: { live: boolean; color?: boolean; columns?: number; now?: () => number }): {
  progress: Progress;
  written: string[];
  screen: () => string[];
} {
  const written: string[] = [];
  const terminal = createTerminal(options.columns ?? 80);
  const agents = createAgentViews();
  const now = options.now ?? (() => 0);
  const progress = createProgress({
    write: (text) => {
      written.push(text);
      terminal.write(text);
    },
    columns: () => options.columns ?? 80,
    rows: () => 24,
    live: options.live,
    calls: true,
    color: options.color ?? false,
    now,
    agents,
  });
  const observe = (update: RunUpdate): void => {
    agents.observe(update);
    progress.observe(update);
  };
  observe(line(started()));
  return { progress: { ...progress, observe }, written, screen: terminal.screen };
}

describe("progress", () => {
  it("shows the current tool and file, the elapsed time and the tokens", () => {
    let time = 0;
    const { progress, screen } = watch({ live: true, now: () => time });
    progress.observe(answer('{"file_path":"src/a.ts"}'));
    progress.observe(requested);
    time = 3_400;
    progress.tick();
    expect(screen()).toEqual(["⠙ reading src/a.ts · 3s · 1,234 tokens"]);
  });

  it("shows a call as an approver or a hook changed it", () => {
    const change = { callId: "c", inputJson: '{"file_path":"src/b.ts"}' };
    for (const update of [
      line({ type: "approval.answered", requestId: "ask_1", answer: "allow", by: "ana", ...change }),
      line({ type: "hooks.ran", event: "PreToolUse", ran: 1, ...change }),
    ]) {
      const { progress, screen } = watch({ live: true });
      for (const each of [answer('{"file_path":"src/a.ts"}'), requested, update]) progress.observe(each);
      progress.tick();
      expect(screen()).toEqual(["⠙ reading src/b.ts · 0s · 1,234 tokens"]);
      progress.observe(ended);
      expect(screen()[0]).toBe("✓ Read src/b.ts · 12 ms");
    }
  });

  it("shows the purpose of several calls in the model's own words", () => {
    const { progress, screen } = watch({ live: true });
    const calls = ["c", "d"].map((callId) => ({ type: "tool_call", callId, name: "Read", inputJson: "{}" }) as const);
    const say = (text: string): void => {
      const content = [{ type: "text", text } as const, ...calls];
      const message = { role: "assistant", content } as const;
      progress.observe({ ...(answer() as RunUpdate & { type: "model.ended" }), message });
      progress.observe(requested);
      progress.tick();
    };
    say("Reading the manifests");
    expect(screen()).toEqual(["⠙ Reading the manifests · 0s · 1,234 tokens"]);
    say("First I read this.\nThen that.");
    expect(screen()).toEqual(["⠹ reading · 0s · 2,468 tokens"]);
  });

  it("prints a line for each finished call, and finally removes the status line", () => {
    const { progress, screen } = watch({ live: true });
    progress.observe(answer('{"file_path":"src/a.ts"}'));
    progress.tick();
    progress.observe(ended);
    expect(screen()).toEqual(["✓ Read src/a.ts · 12 ms", "⠙ working · 0s · 1,234 tokens"]);
    progress.end();
    expect(screen()).toEqual(["✓ Read src/a.ts · 12 ms"]);
  });

  it("writes nothing while it is held, and then prints what it held back", () => {
    const { progress, written, screen } = watch({ live: true });
    progress.tick();
    progress.hold();
    expect(screen()).toEqual([""]);
    const before = written.length;
    progress.tick();
    progress.report("one");
    progress.observe(ended);
    expect(written).toHaveLength(before);
    progress.release();
    expect(screen().slice(0, 2)).toEqual(["retinue: one", "✓ Read · 12 ms"]);
    progress.hold();
    progress.report("two");
    progress.end();
    expect(screen().at(-1)).toBe("retinue: two");
  });

  it("shows each agent below the status line, and removes the lines at the end", () => {
    const { progress, screen } = watch({ live: true });
    const both = [["a1"], ["a2"]];
    for (const path of both) for (const event of [created(path), started()]) progress.observe(fromAgent(path, event));
    progress.observe(fromAgent(["a2"], runEnded()));
    progress.tick();
    progress.report("Look");
    expect(screen()).toEqual([
      "retinue: Look",
      "⠙ starting · 0s",
      "  ⠙ Explore find the router · starting · 0s",
      "  ✓ Explore find the router · succeeded · 1,034 tokens · 4s",
    ]);
    progress.end();
    progress.tick();
    expect(screen()).toEqual(["retinue: Look"]);
  });

  it("removes an agent from the live lines when the call that waited for it ends, and says how it ended", () => {
    const { progress, screen } = watch({ live: true });
    for (const event of [created(["c"]), started(), runEnded({ outcome: "incomplete", reason: "budget" })]) {
      progress.observe(fromAgent(["c"], event));
    }
    for (const event of [created(["b"], "long work"), started({ background: true })])
      progress.observe(fromAgent(["b"], event));
    progress.observe(line({ ...ended, type: "tool.ended", callId: "call_c", name: "Task" } as DurableEvent));
    progress.tick();
    const cut = "! Explore find the router · cut by its budget, can be re… · 1,034 tokens · 4s";
    expect(screen()).toEqual([cut, "⠙ starting · 0s", "  ⠙ Explore long work (background) · starting · 0s"]);
    progress.observe(fromAgent(["b"], runEnded()));
    const done = "✓ Explore long work (background) · succeeded · 1,034 tokens · 4s";
    expect(screen()).toEqual([cut, done, "⠙ starting · 0s"]);
  });

  it("shows that the main agent is waiting for agents when it has nothing else to do", () => {
    const { progress, screen } = watch({ live: true });
    for (const event of [created(["b"]), started({ background: true })]) progress.observe(fromAgent(["b"], event));
    progress.observe(answer());
    progress.tick();
    expect(screen()[0]).toBe("⠙ waiting for 1 agent · 0s · 1,234 tokens");
    progress.observe(fromAgent(["b"], runEnded()));
    expect(screen().at(-1)).toBe("⠙ finishing · 0s · 1,234 tokens");
  });

  it("prints how an agent ended, once, if lines can't be redrawn", () => {
    const { progress, written } = watch({ live: false });
    for (const event of [created(["a1"]), started(), runEnded()]) progress.observe(fromAgent(["a1"], event));
    expect(written).toEqual(["  ✓ Explore find the router · succeeded · 1,034 tokens · 4s\n"]);
  });

  it("never exceeds the width of the terminal, and writes no control sequences", () => {
    const { progress, written } = watch({ live: true, columns: 40 });
    progress.observe(answer(JSON.stringify({ file_path: `\u001b]0;title\u0007${"long/".repeat(40)}` })));
    progress.observe(requested);
    progress.tick();
    progress.observe(ended);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: our own cursor movements
    const moves = /\r|\u001b(?:\[\??\d*[AJKhl]|[78])/g;
    const texts = written.flatMap((text) => text.replaceAll("\u001b[1B", "\n").replace(moves, "").split("\n"));
    expect(texts.join("")).not.toContain("\u001b");
    expect(texts.filter((text) => displayWidth(text) > 40)).toEqual([]);
  });

  it("does not move the cursor or redraw anything if it is not live", () => {
    const { progress, written } = watch({ live: false });
    progress.observe(answer('{"file_path":"npm\\ntest"}'));
    progress.observe(requested);
    progress.tick();
    progress.observe(ended);
    progress.report("Look \u001b[31mhere");
    progress.end();
    expect(written).toEqual(["✓ Read npm↵test · 12 ms\n", "retinue: Look here\n"]);
  });
});
