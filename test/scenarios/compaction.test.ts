import { mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import type { Model, ModelDescription } from "../../src/ports/index.ts";
import { type Line, type Message, noUsage, type RunResult, textOf } from "../../src/protocol/index.ts";
import { type Cast, createCast, type ScriptedStep } from "../../src/testing/index.ts";

interface Place {
  readonly home: string;
  readonly cwd: string;
}

/** Creates three files of about 7,000 tokens each, which do not all fit into the context window. */
function newPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-compaction-")));
  const cwd = mkdtempSync(join(root, "work-"));
  for (const name of ["a.txt", "b.txt", "c.txt"])
    writeFileSync(join(cwd, name), `${name.repeat(5)} is here.\n`.repeat(600));
  return { home: join(root, "home"), cwd };
}

type Parts = Readonly<Record<string, readonly ScriptedStep[]>>;
const description: Partial<ModelDescription> = { window: 23_000, maxOutputTokens: 2_000 };

/** Makes a cast report its token usage, as a provider does. */
function counting(cast: Cast): Model {
  return {
    describe: () => cast.describe(),
    call: async (request, emit) => {
      const outcome = await cast.call(request, emit);
      if (!outcome.ok) return outcome;
      const bytes = request.prompt.body("anthropic", 0).reduce((sum, piece) => sum + piece.length, 0);
      return { ...outcome, usage: { ...noUsage, inputTokens: Math.round(bytes / 3.6), outputTokens: 50 } };
    },
  };
}

async function walk(
  parts: Parts,
  {
    at = newPlace(),
    words = "MAIN: read the files.",
    ...options
  }: SessionOptions & { at?: Place; words?: string } = {},
): Promise<
  Place & { readonly cast: Cast; readonly result: RunResult; readonly sessionId: string; readonly lines: Line[] }
> {
  const cast = createCast(parts, description);
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const { cwd, home } = at;
  const session = await openSession({ ...options, cwd, home, model: counting(cast), environment });
  const result = await session.prompt(words).result;
  await session.close();
  const lines = linesOf(session.transcriptPath ?? "");
  return { ...at, cast, result, sessionId: session.id, lines };
}

function linesOf(path: string): Line[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

const read = (name: string): ScriptedStep => ({ calls: [{ name: "Read", input: { file_path: name } }] });
const task = (prompt: string, more: Record<string, unknown> = {}): ScriptedStep => ({
  calls: [
    {
      name: "Task",
      input: { description: "a piece of work", prompt, subagent_type: "general-purpose", ...more },
    },
  ],
});
const first = (messages: readonly Message[] | undefined): string => textOf(messages?.[0]?.content ?? []);
const typesOf = (lines: readonly Line[]): string[] => lines.map(({ type }) => type);

describe("a session that exceeds its window", () => {
  it("is compacted and continues; the summary request extends the same conversation and is charged", async () => {
    const { cast, result, lines } = await walk({
      MAIN: [
        read("a.txt"),
        read("b.txt"),
        read("c.txt"),
        { text: "Goal: read. a and b are read." },
        { text: "All read." },
      ],
    });
    cast.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "All read.", turns: 4 });
    const asked = cast.requests("MAIN")[3];
    expect(textOf(asked?.at(-1)?.content ?? [])).toContain("do not call any tool");
    const after = cast.requests("MAIN")[4];
    expect(first(after)).toContain("Goal: read. a and b are read.");
    expect(first(after)).toContain("<first_request>\nMAIN: read the files.");
    expect(after?.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(textOf(after?.at(-1)?.content ?? [])).toContain("Your environment:\n");
    const compacted = lines.find((line) => line.type === "conversation.compacted");
    expect(compacted).toMatchObject({ trigger: "auto", kept: 1, usage: { outputTokens: 50 } });
    expect(lines.filter((line) => line.type === "cache.missed")).toMatchObject([{ dimension: "messages" }]);
    const counted = lines.flatMap((line) =>
      line.type === "model.ended" || line.type === "conversation.compacted" ? [line.usage?.outputTokens ?? 0] : [],
    );
    expect(result.usage.outputTokens).toBe(counted.reduce((sum, tokens) => sum + tokens, 0));
  });

  it("continues after a resume with the compacted conversation", async () => {
    const parts = { MAIN: [read("a.txt"), read("b.txt"), read("c.txt"), { text: "Sum." }, { text: "All read." }] };
    const before = await walk(parts);
    const after = await walk(
      { MAIN: [{ text: "Still here." }] },
      { at: before, resume: before.sessionId, words: "And now?" },
    );
    const [messages = []] = after.cast.requests("MAIN");
    expect(first(messages)).toContain("Sum.");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(typesOf(after.lines).filter((type) => type === "conversation.compacted")).toHaveLength(1);
  });

  it("is compacted if the provider rejects a request as too long, and sends a shorter one", async () => {
    const overflow = { error: { code: "context_overflow" as const, message: "Too long." } };
    const { result, cast } = await walk({ MAIN: [read("a.txt"), overflow, { text: "Done." }] });
    cast.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", text: "Done." });
  });

  it("never fails because of a compaction: a digest replaces a missing summary, with a notice", async () => {
    const failure = { error: { code: "server" as const, message: "Down." } };
    const { result, lines, cast } = await walk({
      MAIN: [read("a.txt"), read("b.txt"), read("c.txt"), failure, { text: "All read." }],
    });
    cast.assertDone();
    expect(result.outcome).toBe("succeeded");
    expect(lines).toContainEqual(expect.objectContaining({ type: "notice.raised", code: "compaction_digest" }));
  });

  it("does not change its subagents' transcripts, and lists the subagents again", async () => {
    const { cast, home, sessionId } = await walk({
      MAIN: [task("CHILD: look"), read("a.txt"), read("b.txt"), read("c.txt"), { text: "Sum." }, { text: "All read." }],
      CHILD: [{ text: "The report." }],
    });
    cast.assertDone();
    const record = first(cast.requests("MAIN")[5]);
    expect(record).toMatch(
      /<agents>\nEnded and reported[^\n]*\n- a\w{12} \(general-purpose\): a piece of work\n<\/agents>/,
    );
    const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
    const directory = join(project, sessionId, "subagents");
    const [file = ""] = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
    expect(typesOf(linesOf(join(directory, file)))).not.toContain("conversation.compacted");
  });
});

describe("a subagent that exceeds its window", () => {
  it("is compacted in its own transcript, while its parent is not", async () => {
    const { cast, lines, result } = await walk({
      MAIN: [task("CHILD: read all"), { text: "Good." }],
      CHILD: [read("a.txt"), read("b.txt"), read("c.txt"), { text: "Sum." }, { text: "The report." }],
    });
    cast.assertDone();
    expect(result.text).toBe("Good.");
    expect(first(cast.requests("CHILD")[4])).toContain("CHILD: read all");
    expect(typesOf(lines)).not.toContain("conversation.compacted");
  });

  it("can have its own limit, contextTokens", async () => {
    const small = { description: "Reads little", prompt: "You read.", tools: ["Read"], contextTokens: 14_000 };
    const { cast } = await walk(
      {
        MAIN: [task("CHILD: read all", { subagent_type: "small" }), { text: "Good." }],
        CHILD: [read("a.txt"), read("b.txt"), { text: "Sum." }, { text: "The report." }],
      },
      { agents: { small } },
    );
    cast.assertDone();
  });
});

describe("the compaction.percent setting", () => {
  it("sets the percentage of the window", async () => {
    const { cast } = await walk(
      { MAIN: [read("a.txt"), read("b.txt"), { text: "Sum." }, { text: "Done." }] },
      { settings: { compaction: { percent: 60 } } },
    );
    cast.assertDone();
  });
});
