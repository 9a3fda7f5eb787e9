import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { type EventOf, type Message, type RunUpdate, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";
import { buildMcpServer } from "../../src/testing/mcp-server/build-server.test-support.ts";

interface Place {
  readonly home: string;
  readonly cwd: string;
}

function newPlace({ git = true } = {}): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-copies-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(join(cwd, "secret"), { recursive: true });
  writeFileSync(join(cwd, "notes.txt"), "alpha\n");
  writeFileSync(join(cwd, "secret/key.txt"), "hush\n");
  if (git) {
    const run = (...args: string[]) => execFileSync("git", args, { cwd, stdio: "pipe" });
    run("init", "-q", "-b", "main", "--template=");
    run("add", ".");
    run("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first");
  }
  return { cwd, home: join(root, "home") };
}

type Parts = Readonly<Record<string, readonly ScriptedStep[]>>;

async function walk(parts: Parts, { at = newPlace(), settings, ...rest }: SessionOptions & { at?: Place } = {}) {
  const model = createCast(parts);
  const environment = { PATH: process.env["PATH"], HOME: at.home };
  const options = { ...rest, settings: { sandbox: "off" as const, ...settings } };
  const session = await openSession({ permissionMode: "acceptEdits", ...options, ...at, model, environment });
  const run = session.prompt("MAIN: do it.");
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  model.assertDone();
  const task = updates.find((update) => update.type === "tool.ended" && update.name === "Task") as
    | EventOf<"tool.ended">
    | undefined;
  const child = updates.flatMap((update) => (update.type === "subagent.event" ? [update.event] : []));
  return { ...at, result, model, sessionId: session.id, task: task?.result, child };
}

const task = (prompt: string, more: Record<string, unknown> = {}) => ({
  name: "Task",
  input: { description: "a piece of work", prompt, subagent_type: "general-purpose", isolation: "worktree", ...more },
});
const write = (path: string, content: string) => ({ name: "Write", input: { file_path: path, content } });
const read = (path: string) => ({ name: "Read", input: { file_path: path } });
const resultsIn = (messages: readonly Message[] | undefined): string[] =>
  (messages?.at(-1)?.content ?? []).flatMap((block) => (block.type === "tool_result" ? [textOf(block.content)] : []));
const worktreesIn = ({ home }: Place): readonly string[] => {
  const directory = join(home, "worktrees");
  if (!existsSync(directory)) return [];
  return readdirSync(directory).flatMap((project) => readdirSync(join(directory, project)));
};

describe("an agent with its own worktree", () => {
  it("changes files there and not in the project, and the result contains path, branch and changes", async () => {
    const walked = await walk({
      MAIN: [{ calls: [task("CHILD: write")] }, { text: "ok" }],
      CHILD: [{ calls: [read("notes.txt"), write("new.txt", "made\n")] }, { text: "Written." }],
    });
    expect(walked.task?.outcome).toBe("ok");
    expect(existsSync(join(walked.cwd, "new.txt"))).toBe(false);
    const { worktreePath, worktreeBranch } = (walked.task?.details ?? {}) as Record<string, string>;
    expect(readFileSync(join(worktreePath ?? "", "new.txt"), "utf8")).toBe("made\n");
    expect(textOf(walked.task?.content ?? [])).toContain(
      `worktree: ${worktreePath}, branch ${worktreeBranch} (1 file changed)`,
    );
    expect(walked.child.map((event) => event.type).slice(-2)).toEqual(["run.ended", "run.cleaned"]);
    expect(walked.child.find((event) => event.type === "agent.created")).toMatchObject({ cwd: worktreePath });
  });

  it("leaves nothing behind if it changed nothing", async () => {
    const walked = await walk({
      MAIN: [{ calls: [task("CHILD: read")] }, { text: "ok" }],
      CHILD: [{ calls: [read("notes.txt")] }, { text: "Read." }],
    });
    expect(resultsIn(walked.model.requests("CHILD")[1])[0]).toContain("alpha");
    expect(textOf(walked.task?.content ?? [])).not.toContain("worktree");
    expect(worktreesIn(walked)).toEqual([]);
    const branches = execFileSync("git", ["branch", "--list", "retinue/*"], { cwd: walked.cwd, encoding: "utf8" });
    expect(branches).toBe("");
  });

  it("can access neither the project itself nor denied paths in the copy", async () => {
    const at = newPlace();
    const { model } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: try")] }, { text: "ok" }],
        CHILD: [
          { calls: [write(join(at.cwd, "notes.txt"), "broken\n"), read("secret/key.txt"), read("notes.txt")] },
          { text: "Tried." },
        ],
      },
      { at, disallowedTools: [`Read(/${at.cwd}/secret/**)`] },
    );
    const [written, secret, notes] = resultsIn(model.requests("CHILD")[1]);
    expect(written).toContain("not run");
    expect(secret).not.toContain("hush");
    expect(notes).toContain("alpha");
    expect(readFileSync(join(at.cwd, "notes.txt"), "utf8")).toBe("alpha\n");
  });

  it("keeps its parent's limits", async () => {
    const { model } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: try")] }, { text: "ok" }],
        CHILD: [{ calls: [{ name: "Bash", input: { command: "touch made" } }] }, { text: "Tried." }],
      },
      {
        agent: "narrow",
        agents: { narrow: { description: "Works.", prompt: "Work.", tools: ["Task", "Read", "Bash(git status)"] } },
        permissionMode: "bypassPermissions",
      },
    );
    expect(resultsIn(model.requests("CHILD")[1])[0]).toContain("only for Bash(git status)");
  });

  it("continues in the same copy when it is resumed", async () => {
    let agentId = "";
    const walked = await walk({
      MAIN: [
        { calls: [task("CHILD: write")] },
        (messages) => {
          agentId = / id="(a\w{12})/.exec(resultsIn(messages)[0] ?? "")?.[1] ?? "";
          const again = { description: "more", prompt: "Look again.", resume: agentId };
          return { calls: [{ name: "Task", input: again }] };
        },
        { text: "ok" },
      ],
      CHILD: [
        { calls: [write("new.txt", "made\n")] },
        { text: "Written." },
        { calls: [read("new.txt")] },
        { text: "It is there." },
      ],
    });
    expect(resultsIn(walked.model.requests("CHILD")[3])[0]).toContain("made");
    expect(resultsIn(walked.model.requests("MAIN")[2])[0]).toContain(`branch retinue/${agentId}`);
    expect(resultsIn(walked.model.requests("MAIN")[2])[0]).toContain("[The agent has committed nothing.");
  });

  it("has its own MCP servers there, which end with it", async () => {
    const server = buildMcpServer();
    onTestFinished(() => server.remove());
    const where = { name: "mcp__desk__where", input: {} };
    const desk = server.config();
    const {
      model,
      cwd,
      home,
      task: result,
    } = await walk(
      {
        MAIN: [{ calls: [task("CHILD: look", { subagent_type: "clerk" })] }, { text: "ok" }],
        CHILD: [{ calls: [where] }, { text: "Seen." }],
      },
      {
        agents: { clerk: { description: "Looks.", prompt: "Look.", mcpServers: [{ desk }] } },
        allowedTools: ["mcp__desk"],
      },
    );
    expect(result?.outcome).toBe("ok");
    const [directory = ""] = resultsIn(model.requests("CHILD")[1]);
    expect(directory).not.toBe(cwd);
    expect(directory.startsWith(join(home, "worktrees"))).toBe(true);
    expect(worktreesIn({ home, cwd })).toEqual([]);
  });

  it("does not start if there is no repository, and the reason is reported", async () => {
    const { task: ended, result } = await walk(
      { MAIN: [{ calls: [task("CHILD: write")] }, { text: "I see." }] },
      { at: newPlace({ git: false }) },
    );
    expect(result.outcome).toBe("succeeded");
    expect(ended?.outcome).toBe("error");
    expect(textOf(ended?.content ?? [])).toMatch(/^<task_error .*needs its own worktree/s);
  });
});
