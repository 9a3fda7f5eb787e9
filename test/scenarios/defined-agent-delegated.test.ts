import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { foldSession, inTreeOrder, newSessionView, type ViewUpdate } from "../../src/client/index.ts";
import { type AgentEnvironment, defineAgent, openSession, type RunResult, type RunUpdate } from "../../src/index.ts";
import { textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";

const poet = { description: "Writes verse. Use for rhymes.", tools: ["Read"], maxTurns: 3 } as const;
const task = (more: Record<string, unknown> = {}) => ({
  calls: [{ name: "Task", input: { description: "a rhyme", prompt: "POET: rhyme", subagent_type: "poet", ...more } }],
});
const done = { text: "Done." };

interface Walk {
  readonly results: readonly string[];
  readonly heard: readonly string[];
  readonly updates: readonly RunUpdate[];
  readonly cwd: string;
}

/** Runs a main agent that delegates to the agent that the program defines. */
async function walk(
  agent: ReturnType<typeof defineAgent>,
  parts: Readonly<Record<string, readonly ScriptedStep[]>>,
  prepare: (cwd: string) => void = () => undefined,
): Promise<Walk> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-defined-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  prepare(cwd);
  const cast = createCast(parts);
  const heard: string[] = [];
  const model: typeof cast = {
    ...cast,
    call: (request, emit) => {
      heard.push(request.prompt.head.system);
      return cast.call(request, emit);
    },
  };
  const environment = { HOME: root, PATH: process.env["PATH"] ?? "" };
  const session = await openSession({ cwd, home: join(root, "state"), environment, model, agents: { poet: agent } });
  const run = session.prompt("MAIN: do it.");
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  await session.close();
  cast.assertDone();
  const last = cast.requests("MAIN").at(-1)?.at(-1)?.content ?? [];
  const results = last.flatMap((block) => (block.type === "tool_result" ? [textOf(block.content)] : []));
  return { results, heard, updates, cwd };
}

describe("an agent defined by a program, as a subagent,", () => {
  it("is shown in the color of its definition, and other agents are not", async () => {
    const { updates } = await walk(defineAgent({ ...poet, prompt: "You rhyme.", color: "pink" }), {
      MAIN: [
        task(),
        {
          calls: [{ name: "Task", input: { description: "x", prompt: "OTHER: x", subagent_type: "general-purpose" } }],
        },
        done,
      ],
      POET: [{ text: "A rhyme." }],
      OTHER: [{ text: "Nothing." }],
    });
    const view = updates
      .map((update): ViewUpdate => (update.type === "subagent.event" ? update : { agentId: "main", event: update }))
      .reduce(foldSession, newSessionView());
    const colors = inTreeOrder(view).map(({ agentType, color }) => [agentType, color]);
    expect(colors).toEqual([
      ["main", undefined],
      ["poet", "pink"],
      ["general-purpose", undefined],
    ]);
  });

  it("has the prompt that its function returns", async () => {
    const prompt = ({ cwd }: AgentEnvironment) => `You rhyme about ${cwd}.`;
    const { heard, results, cwd } = await walk(defineAgent({ ...poet, prompt }), {
      MAIN: [task(), done],
      POET: [{ text: "A rhyme." }],
    });
    expect(heard[1]).toMatch(new RegExp(`^You rhyme about ${cwd}\\.`));
    expect(results[0]).toContain("A rhyme.");
  });

  it("has a prompt for the copy that it works in", async () => {
    const prompt = ({ cwd }: AgentEnvironment) => `You rhyme about ${cwd}.`;
    const { heard, cwd } = await walk(
      defineAgent({ ...poet, prompt, isolation: "worktree" }),
      { MAIN: [task(), done], POET: [{ text: "A rhyme." }] },
      (directory) => {
        writeFileSync(join(directory, "notes.txt"), "alpha\n");
        const who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        for (const words of [
          ["init", "-q"],
          ["add", "."],
          [...who, "commit", "-qm", "one"],
        ])
          execFileSync("git", words, { cwd: directory });
      },
    );
    expect(heard[1]).toMatch(/^You rhyme about .*\/worktrees\//);
    expect(heard[1]).not.toContain(`about ${cwd}.`);
  });

  it.each([
    ["returns no text", (async () => "You.") as unknown as () => string, 'The prompt of agent "poet" is not a string'],
    [
      "throws",
      () => {
        throw new Error("Out of ink");
      },
      'The prompt of agent "poet" could not be created: Out of ink',
    ],
  ])("is not started if its function %s, and its caller gets the reason", async (_, prompt, message) => {
    const { results } = await walk(defineAgent({ ...poet, prompt }), { MAIN: [task(), done] });
    expect(results[0]).toContain(message);
  });

  it("calls the callback with its result before its parent gets the report", async () => {
    const seen: RunResult[] = [];
    const callback = async (result: RunResult) => {
      await Promise.resolve();
      seen.push(result);
    };
    let before = 0;
    const agent = defineAgent({ ...poet, prompt: "You rhyme.", callback });
    const { results } = await walk(agent, {
      MAIN: [
        task(),
        () => {
          before = seen.length;
          return done;
        },
      ],
      POET: [{ text: "A rhyme." }],
    });
    expect(before).toBe(1);
    expect(seen).toEqual([expect.objectContaining({ outcome: "succeeded", text: "A rhyme." })]);
    expect(results[0]).toContain(`id="${seen[0]?.agentId}"`);
  });

  it("calls the callback exactly once, even in the background and after a failure", async () => {
    const seen: string[] = [];
    const callback = ({ outcome }: RunResult) => void seen.push(outcome);
    const agent = defineAgent({ ...poet, prompt: "You rhyme.", callback });
    await walk(agent, {
      MAIN: [task({ run_in_background: true }), { text: "Launched." }, done],
      POET: [{ error: { code: "protocol", message: "No." } }],
    });
    expect(seen).toEqual(["failed"]);
  });

  it("keeps its report if the callback throws, and its transcript records the error", async () => {
    const callback = () => {
      throw new Error("Out of ink");
    };
    const agent = defineAgent({ ...poet, prompt: "You rhyme.", callback });
    const { results, updates, cwd } = await walk(agent, { MAIN: [task(), done], POET: [{ text: "A rhyme." }] });
    expect(results[0]).toContain("A rhyme.");
    const notices = updates.flatMap((update) => (update.type === "subagent.event" ? [update.event] : []));
    const notice = notices.find(({ type }) => type === "notice.raised");
    expect(notice).toMatchObject({ code: "callback_failed", message: expect.stringContaining("Out of ink") });
    const files = execFileSync("grep", ["-rl", "Out of ink", join(cwd, "../state/projects")], { encoding: "utf8" });
    expect(readFileSync(files.trim().split("\n")[0]!, "utf8")).toContain('"agent.created"');
  });
});
