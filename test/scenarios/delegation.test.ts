import { mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, type Session, type SessionOptions } from "../../src/app/index.ts";
import { type Line, type Message, type RunResult, type RunUpdate, textOf } from "../../src/protocol/index.ts";
import { type Cast, createCast, type ScriptedStep } from "../../src/testing/index.ts";

interface Place {
  readonly home: string;
  readonly cwd: string;
}

interface Walk extends Place {
  readonly result: RunResult;
  readonly updates: readonly RunUpdate[];
  readonly model: Cast;
  readonly sessionId: string;
}

function newPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-delegation-")));
  const cwd = mkdtempSync(join(root, "work-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  return { home: join(root, "home"), cwd };
}

type Parts = Readonly<Record<string, readonly ScriptedStep[]>>;

async function open(
  parts: Parts,
  options: SessionOptions & { at?: Place } = {},
): Promise<{ session: Session; model: Cast } & Place> {
  const { at = newPlace(), ...rest } = options;
  const model = createCast(parts);
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const session = await openSession({ ...rest, ...at, model, environment });
  return { session, model, ...at };
}

async function walk(parts: Parts, options: SessionOptions & { at?: Place } = {}): Promise<Walk> {
  const { session, model, home, cwd } = await open(parts, options);
  const run = session.prompt("MAIN: do it.");
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  return { result, updates, model, home, cwd, sessionId: session.id };
}

const task = (prompt: string, more: Record<string, unknown> = {}) => ({
  name: "Task",
  input: { description: "a piece of work", prompt, subagent_type: "general-purpose", ...more },
});
const read = { name: "Read", input: { file_path: "notes.txt" } };
const lastWords = (messages: readonly Message[] | undefined): string => textOf(messages?.at(-1)?.content ?? []);
const resultsIn = (messages: readonly Message[] | undefined): string[] =>
  (messages?.at(-1)?.content ?? []).flatMap((block) => (block.type === "tool_result" ? [textOf(block.content)] : []));

function transcriptsIn({ home }: Place, sessionId: string): Map<string, Line[]> {
  const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
  const directory = join(project, sessionId, "subagents");
  return new Map(
    readdirSync(directory)
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => [
        name,
        readFileSync(join(directory, name), "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Line),
      ]),
  );
}

describe("a foreground agent", () => {
  it("works in a context of its own and hands back one report", async () => {
    const walked = await walk({
      MAIN: [{ calls: [task("CHILD: read the notes")] }, { text: "It says alpha." }],
      CHILD: [{ calls: [read] }, { text: "The notes say alpha and beta." }],
    });
    walked.model.assertDone();
    expect(walked.result).toMatchObject({ outcome: "succeeded", text: "It says alpha." });
    const [report] = resultsIn(walked.model.requests("MAIN")[1]);
    expect(report).toMatch(
      /^<task_result agent="general-purpose" id="a[0-9a-z]{12}" status="completed">\nThe notes say alpha and beta\.\n<\/task_result>\n\[agentId: a[0-9a-z]{12}; 1 tool call; 220 tokens; /,
    );
    expect(walked.model.requests("CHILD")[0]).toHaveLength(1);
    const [[, lines = []] = []] = transcriptsIn(walked, walked.sessionId);
    expect(lines.map(({ type }) => type)).toEqual([
      "agent.created",
      "head.set",
      "run.started",
      "prompt.received",
      "model.requested",
      "model.ended",
      "tool.requested",
      "tool.started",
      "tool.ended",
      "model.requested",
      "model.ended",
      "run.ended",
    ]);
    const seen = walked.updates.flatMap((update) => (update.type === "subagent.event" ? [update.event] : []));
    expect(seen.filter((event): event is Line => "id" in event)).toEqual(lines);
  });

  it("runs beside others of the same answer; results come in the order of the calls", async () => {
    let release = () => {};
    const second = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { model, result } = await walk({
      MAIN: [{ calls: [task("ONE: a"), task("TWO: b")] }, { text: "Both." }],
      ONE: [{ text: "first", after: second }],
      TWO: [
        () => {
          release();
          return { text: "second" };
        },
      ],
    });
    expect(result.outcome).toBe("succeeded");
    expect(resultsIn(model.requests("MAIN")[1]).map((text) => text.split("\n")[1])).toEqual(["first", "second"]);
  });

  it("tells of an unknown type with the choices, and the parent goes on", async () => {
    const { model, result } = await walk({
      MAIN: [{ calls: [task("x", { subagent_type: "Explor" })] }, { text: "I see." }],
    });
    expect(result.outcome).toBe("succeeded");
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("Explore");
  });

  it("has no more than its parent: no delegation, no tool a rule denies", async () => {
    const { model, updates } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: try")] }, { text: "ok" }],
        CHILD: [
          {
            calls: [
              task("deeper"),
              { name: "Bash", input: { command: "echo hi" } },
              { name: "Read", input: { file_path: "notes.txt" } },
            ],
          },
          { text: "done" },
        ],
      },
      { disallowedTools: ["Bash", "Read(notes.txt)"], permissionMode: "bypassPermissions" },
    );
    const outcomes = updates.flatMap((update) =>
      update.type === "subagent.event" && update.event.type === "tool.ended" ? [update.event.result.outcome] : [],
    );
    expect(outcomes).toEqual(["denied", "denied", "denied"]);
    expect(lastWords(model.requests("CHILD")[1])).toBeDefined();
  });

  it("fails with its reason, what it said, and its id to resume it by", async () => {
    const { model, result } = await walk({
      MAIN: [{ calls: [task("CHILD: go")] }, { text: "Too bad." }],
      CHILD: [{ text: "Half", error: { code: "overloaded", message: "The model is overloaded." } }],
    });
    expect(result.outcome).toBe("succeeded");
    const [report = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(report).toMatch(
      /^<task_error agent="general-purpose" id="a\w+" status="failed">\nThe model is overloaded\./,
    );
    expect(report).toContain("Half");
  });
});

describe("a background agent", () => {
  it("is launched at once, and its end is told exactly once, to a parent that waits", async () => {
    let finish = () => {};
    const later = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { model, result, home, sessionId, cwd } = await walk({
      MAIN: [
        { calls: [task("CHILD: slowly", { run_in_background: true })] },
        () => {
          finish();
          return { text: "Meanwhile." };
        },
        { text: "It is done." },
      ],
      CHILD: [{ calls: [read], after: later }, { text: "The slow answer." }],
    });
    model.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "It is done." });
    const [launched = ""] = resultsIn(model.requests("MAIN")[1]);
    expect(launched).toMatch(/works in the background/);
    const notice = lastWords(model.requests("MAIN")[2]);
    expect(notice).toContain("not by a person");
    expect(notice).toMatch(
      /<task_notification agent="general-purpose" id="a\w+" status="completed" output_file="[^"]+">/,
    );
    expect(notice).toContain("The slow answer.");
    const [[name = ""] = []] = transcriptsIn({ home, cwd }, sessionId);
    const output = /output_file="([^"]+)"/.exec(notice)?.[1] ?? "";
    expect(output.endsWith(name.replace(".jsonl", ".output"))).toBe(true);
    expect(readFileSync(output, "utf8")).toContain("The slow answer.");
  });
});

describe("resume", () => {
  it("goes on with an agent by its id, with all it knew", async () => {
    const ids: string[] = [];
    const { model, result } = await walk({
      MAIN: [
        { calls: [task("CHILD: begin")] },
        (messages) => {
          const [report = ""] = resultsIn(messages);
          ids.push(/id="(a\w+)"/.exec(report)?.[1] ?? "");
          return { calls: [task("and more", { resume: ids[0] })] };
        },
        { text: "Good." },
      ],
      CHILD: [{ text: "Begun." }, { text: "More." }],
    });
    model.assertDone();
    expect(result.outcome).toBe("succeeded");
    expect(model.requests("CHILD")[1]?.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(resultsIn(model.requests("MAIN")[2])[0]).toContain(`id="${ids[0]}"`);
  });

  it("names the agents there are for an id that is not there", async () => {
    const { model } = await walk({
      MAIN: [{ calls: [task("x", { resume: "azzz" })] }, { text: "ok" }],
    });
    expect(resultsIn(model.requests("MAIN")[1])[0]).toContain("There is no agent azzz in this session.");
  });
});
