import { execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { createDeferred } from "../../src/lib/index.ts";
import type { Line, RunResult, RunUpdate } from "../../src/protocol/index.ts";
import {
  createApiServer,
  messagesOf,
  type RecordedRequest,
  type ReplyPart,
  type ToolPart,
} from "../../src/testing/index.ts";
import { type BuiltServer, buildMcpServer } from "../../src/testing/mcp-server/build-server.test-support.ts";
import { newPlace } from "./delegation-place.ts";

/** Returns the calls in a turn (starting at 1). `request` is the request that the model answers. */
type Turn = (turn: number, request: RecordedRequest) => readonly ReplyPart[] | Promise<readonly ReplyPart[]>;

interface Work extends SessionOptions {
  readonly turns: number;
  readonly play: Turn;
  /** Prepares the workspace. */
  readonly prepare?: ((cwd: string) => void) | undefined;
  /** Returns the answer of a subagent that makes no calls. */
  readonly child?: () => Promise<string>;
}

interface Played {
  readonly result: RunResult;
  readonly lines: readonly Line[];
  /** Warnings about loops, with the turn after which the model got them. */
  readonly warnings: readonly { readonly after: number; readonly text: string }[];
}

/** Plays the turns against a model API server. The model stops calling tools after the last turn. */
async function play({ turns, play: turnOf, prepare, child, settings, ...options }: Work): Promise<Played> {
  const place = newPlace();
  prepare?.(place.cwd);
  let turn = 0;
  const server = await createApiServer({
    script: async (request) => {
      const messages = messagesOf(request);
      if (messages.at(-1)?.text.includes("do not call any tool")) return { content: "The files are being read." };
      if (messages[0]?.text.includes("CHILD:")) return { content: (await child?.()) ?? "Done." };
      turn += 1;
      return { content: turn > turns ? "All done." : await turnOf(turn, request) };
    },
  });
  onTestFinished(() => server.close());
  const environment = {
    PATH: process.env["PATH"],
    HOME: place.home,
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: server.url,
  };
  const session = await openSession({
    ...place,
    permissionMode: "bypassPermissions",
    ...options,
    settings: { maxTurns: 100, ...settings },
    environment,
  });
  const run = session.prompt("Do it.");
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  const lines = updates.filter((update): update is Line => "id" in update);
  return { result, lines, warnings: warningsIn(lines) };
}

function warningsIn(lines: readonly Line[]): Played["warnings"] {
  let after = 0;
  return lines.flatMap((line) => {
    if (line.type === "model.requested") after = line.turn;
    return line.type === "context.added" && line.cause === "loop" ? [{ after, text: line.text }] : [];
  });
}

const bash = (command: string, more: object = {}): ToolPart => ({ tool: "Bash", input: { command, ...more } });
const read = (path: string, more: object = {}): ToolPart => ({ tool: "Read", input: { file_path: path, ...more } });
const grep = (pattern: string): ToolPart => ({ tool: "Grep", input: { pattern } });
const task = (prompt: string, more: object = {}): ToolPart => ({
  tool: "Task",
  input: { description: "a piece of work", prompt, subagent_type: "general-purpose", ...more },
});
const todos = (done: number, all: number): ToolPart => ({
  tool: "TodoWrite",
  input: {
    todos: Array.from({ length: all }, (_, index) => ({
      content: `Step ${index}`,
      status: index < done ? "completed" : "pending",
    })),
  },
});

/** Plays the calls one after another, one call per turn. */
const inTurn =
  (...calls: readonly ((turn: number) => ToolPart)[]): Turn =>
  (turn) => [calls[(turn - 1) % calls.length]?.(turn) as ToolPart];

let mcp: BuiltServer;
beforeAll(() => {
  mcp = buildMcpServer();
});
afterAll(() => mcp.remove());

function initGit(cwd: string): void {
  const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "ignore" });
  git("init", "-q", "--template=");
  appendFileSync(join(cwd, ".git/config"), "[user]\n\temail = test@example.org\n\tname = Test\n");
  git("add", ".");
  git("commit", "-q", "-m", "first");
}

/** A cycle of two turns would end the run after its eighth repetition. */
const enough = 17;

describe("useful work that repeats calls is not ended:", () => {
  const useful: readonly (readonly [string, () => Work])[] = [
    [
      "a test command between edits by sed -i",
      () => ({
        turns: enough,
        prepare: (cwd) => {
          writeFileSync(join(cwd, "count.txt"), "attempt 0\n");
          writeFileSync(join(cwd, "test.sh"), "grep -q fixed count.txt || { echo FAIL; exit 1; }\n");
        },
        play: inTurn(
          () => bash("sh test.sh"),
          () => bash("sed -i 's/attempt/attempt/' count.txt"),
        ),
      }),
    ],
    [
      "git status between commits",
      () => ({
        turns: enough,
        prepare: initGit,
        play: inTurn(
          () => bash("git status --short"),
          () => bash("git commit -q --allow-empty -m step"),
        ),
      }),
    ],
    [
      "a file that is read again after other reads",
      () => ({
        turns: enough,
        play: inTurn(
          () => read("notes.txt"),
          (turn) => grep(`word${turn}`),
        ),
      }),
    ],
    [
      "a file that is read again after each compaction",
      () => ({
        turns: 16,
        settings: { compaction: { percent: 1 } },
        prepare: (cwd) => writeFileSync(join(cwd, "long.txt"), "A line of some length, about nothing.\n".repeat(500)),
        play: () => [read("long.txt")],
      }),
    ],
    [
      "polling a background shell, a background agent and a log",
      () => {
        const childMayEnd = createDeferred<void>();
        let shell = "";
        let agent = "";
        return {
          turns: 32,
          prepare: (cwd) => writeFileSync(join(cwd, "build.log"), "building\n"),
          child: () => childMayEnd.promise.then(() => "Built."),
          play: (turn, request) => {
            if (turn === 1) {
              return [
                bash("sleep 600", { run_in_background: true }),
                task("CHILD: build", { run_in_background: true }),
              ];
            }
            if (turn === 2) {
              const [started, launched] = messagesOf(request).at(-1)?.toolResults ?? [];
              shell = /shell_\d+/.exec(started?.text ?? "")?.[0] ?? "";
              agent = /\ba[0-9a-z]{12}\b/.exec(launched?.text ?? "")?.[0] ?? "";
            }
            if (turn < 12) return [{ tool: "BashOutput", input: { bash_id: shell, filter: "done" } }];
            if (turn < 22) return [{ tool: "TaskOutput", input: { task_id: agent } }];
            if (turn === 32) childMayEnd.resolve();
            return [bash("sleep 0.01; cat build.log")];
          },
        };
      },
    ],
    [
      "five equal reads in one message",
      () => ({ turns: 1, play: () => Array.from({ length: 5 }, () => read("notes.txt")) }),
    ],
    [
      "five refused Task calls in one message",
      () => ({ turns: 1, play: () => Array.from({ length: 5 }, () => task("go on", { resume: "anobody" })) }),
    ],
    [
      "listing the output directory after each build",
      () => ({
        turns: enough,
        prepare: (cwd) => writeFileSync(join(cwd, "build.sh"), "mkdir -p dist && echo x > dist/out.js && echo built\n"),
        play: inTurn(
          () => bash("sh build.sh"),
          () => ({ tool: "LS", input: { path: "dist" } }),
        ),
      }),
    ],
    [
      "a flaky command that is tried until it works",
      () => ({
        turns: 9,
        prepare: (cwd) =>
          writeFileSync(
            join(cwd, "flaky.sh"),
            "echo x >> tries; [ $(wc -l < tries) -ge 9 ] && echo connected || { echo refused; exit 1; }\n",
          ),
        play: () => [bash("sh flaky.sh")],
      }),
    ],
    [
      "a plan that is read again between steps of a to-do list",
      () => ({
        turns: enough,
        play: inTurn(
          () => read("notes.txt"),
          (turn) => todos(turn / 2, 12),
        ),
      }),
    ],
    [
      "a report that is read after each of many agents",
      () => ({
        turns: enough,
        child: async () => "Nothing to add.",
        play: inTurn(
          () => task("CHILD: look"),
          () => read("notes.txt"),
        ),
      }),
    ],
    [
      "a button that is pressed repeatedly through an MCP server",
      () => ({
        turns: 12,
        settings: { mcpServers: { page: mcp.config() } },
        play: () => [{ tool: "mcp__page__echo", input: { text: "next page" } }],
      }),
    ],
  ];

  it.each(useful)("%s", async (name, work) => {
    const { result, lines, warnings } = await play(work());
    expect(result).toMatchObject({ outcome: "succeeded", reason: "done", text: "All done.", facts: { denied: [] } });
    const compactions = lines.filter(({ type }) => type === "conversation.compacted");
    expect(compactions.length > 3).toBe(name.endsWith("compaction"));
    const advice = name.startsWith("polling") ? ["background shell", "block set to true", "sleep longer"] : [];
    expect(warnings.map(({ text }) => text)).toEqual(advice.map((words) => expect.stringContaining(words)));
  });
});

describe("a cycle", () => {
  const cycles: readonly (readonly [string, number, Turn, readonly string[]])[] = [
    ["one turn", 1, () => [read("notes.txt")], ["Read notes.txt"]],
    ["one turn of several calls", 1, () => [read("notes.txt"), grep("alpha")], ["Read notes.txt", "Grep alpha"]],
    [
      "two turns",
      2,
      inTurn(
        () => read("notes.txt"),
        () => grep("alpha"),
      ),
      ["Read notes.txt", "Grep alpha"],
    ],
    [
      "three turns with a read-only command",
      3,
      inTurn(
        () => read("notes.txt"),
        () => bash("git status --short"),
        () => ({ tool: "LS", input: { path: "." } }),
      ),
      ["Read notes.txt", "Bash git status --short", "LS ."],
    ],
    [
      "a read and the same to-do list",
      2,
      inTurn(
        () => read("notes.txt"),
        () => todos(1, 3),
      ),
      ["Read notes.txt", "TodoWrite"],
    ],
    [
      "an edit that always fails",
      2,
      inTurn(
        () => read("notes.txt"),
        () => ({ tool: "Edit", input: { file_path: "notes.txt", old_string: "omega", new_string: "psi" } }),
      ),
      ["Read notes.txt", "Edit notes.txt"],
    ],
    ["a call that does not fit its schema", 1, () => [{ tool: "Bash", input: { cmd: "ls" } }], ["Bash"]],
    [
      "refused Task calls",
      1,
      () => Array.from({ length: 5 }, () => task("go on", { resume: "anobody" })),
      ["Task a piece of work"],
    ],
    ["a truncated result", 1, () => [bash("seq 1 20000")], ["Bash seq 1 20000"]],
  ];

  it.each(cycles)(
    "causes a warning at its third repetition and ends the run at its eighth: %s",
    async (_, period, turn, names) => {
      const prepare = names.some((name) => name.includes("git")) ? initGit : undefined;
      const { result, warnings } = await play({ turns: 60, play: turn, prepare });
      expect(result).toMatchObject({ outcome: "incomplete", reason: "loop", turns: 8 * period });
      expect(warnings.map(({ after }) => after)).toEqual([3 * period]);
      for (const name of names) {
        expect(warnings[0]?.text).toContain(name);
        expect(result.message).toContain(name);
      }
    },
  );

  it("ends the run if its calls are denied", async () => {
    const { result } = await play({
      turns: 60,
      permissionMode: "default",
      play: () => [bash("rm -rf notes.txt")],
    });
    expect(result).toMatchObject({ reason: "loop", turns: 8 });
    expect(result.facts.denied).toHaveLength(8);
  });
});

it("the journal records which calls were proven to be read-only", async () => {
  const { lines } = await play({
    turns: 1,
    prepare: initGit,
    allowedTools: ["Bash"],
    play: () => [
      read("notes.txt"),
      bash("git status"),
      bash("cat notes.txt | wc -l > /dev/null"),
      bash("cat notes.txt > copy.txt"),
      bash("sed -i s/a/b/ notes.txt"),
      todos(0, 1),
    ],
  });
  const proven = lines.flatMap((line) => (line.type === "tool.requested" ? [line.readsOnly === true] : []));
  expect(proven).toEqual([true, true, true, false, false, false]);
});

it("a run that was ended as a loop starts a new count when it is resumed", async () => {
  const place = newPlace();
  let turn = 0;
  const server = await createApiServer({
    script: () => {
      turn += 1;
      return { content: turn <= 15 ? [read("notes.txt")] : "All done." };
    },
  });
  onTestFinished(() => server.close());
  const environment = { PATH: process.env["PATH"], ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
  const first = await openSession({ ...place, environment });
  expect(await first.prompt("Do it.").result).toMatchObject({ reason: "loop", turns: 8 });
  await first.close();
  const second = await openSession({ ...place, environment, resume: first.id });
  expect(await second.prompt("Once more.").result).toMatchObject({ reason: "done", turns: 8 });
  await second.close();
});
