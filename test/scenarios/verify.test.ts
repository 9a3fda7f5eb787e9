import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../src/app/index.ts";
import { createDeferred } from "../../src/lib/index.ts";
import { type Line, textOf } from "../../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../../src/testing/index.ts";
import { firstPrompt } from "./delegation-place.ts";

const write = (file_path: string, content = "text\n") => ({
  calls: [{ name: "Write", input: { file_path, content } }],
});
const bash = (command: string) => ({ calls: [{ name: "Bash", input: { command } }] });
const says = (text: string) => ({ text });

interface Walk extends SessionOptions {
  readonly main: readonly ScriptedStep[];
  readonly verification?: readonly ScriptedStep[];
  readonly verify?: "off" | "suggest" | "auto";
  /** Creates the workspace without a git repository. */
  readonly bare?: true;
}

function createPlace({ bare }: Pick<Walk, "bare"> = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-verify-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const author = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
  const git = (...words: string[]) => execFileSync("git", [...author, ...words], { cwd, stdio: "ignore" });
  if (!bare) {
    git("init", "-q", "--template=");
    git("commit", "-q", "--allow-empty", "-m", "first");
  }
  return { root, cwd, environment: { PATH: process.env["PATH"], HOME: root } };
}

async function walk({ main, verification = [], verify, bare, ...options }: Walk) {
  const { root, cwd, environment } = createPlace(bare ? { bare } : {});
  const cast = createCast({ "The request": verification, MAIN: main });
  const session = await openSession({
    permissionMode: "acceptEdits",
    ...options,
    settings: { sandbox: "off", ...(verify && { verify }) },
    cwd,
    home: join(root, "home"),
    model: cast,
    environment,
  });
  const run = session.prompt("MAIN: make it.");
  const lines: Line[] = [];
  for await (const update of run) if ("id" in update) lines.push(update);
  const result = await run.result;
  await session.close();
  cast.assertDone();
  const heard = cast.requests("MAIN").map((messages) => {
    const { content = [] } = messages.at(-1) ?? {};
    return textOf(content.filter((block) => block.type === "text"));
  });
  return { result, heard, lines, notices: session.notices, asked: cast.requests("The request") };
}

describe("verify: auto", () => {
  it("lets another agent try to break the changes; work that passes is verified, and the answer stays", async () => {
    const { result, asked, heard, lines } = await walk({
      verify: "auto",
      main: [write("a.txt"), says("Made.")],
      verification: [bash("cat a.txt"), says("It holds.\nVERDICT: pass")],
    });
    expect(result).toMatchObject({ outcome: "succeeded", text: "Made.", turns: 2 });
    expect(result.acceptance).toEqual({
      command: "Verification",
      ok: true,
      exitCode: null,
      verdict: "pass",
      output: "It holds.\nVERDICT: pass",
    });
    expect(firstPrompt(asked[0] ?? [])).toMatch(
      /^The request:\nMAIN: make it\.\n\nThe author's report:\nMade\.\n\nChanged files:\na\.txt$/,
    );
    expect(heard).toHaveLength(2);
    expect(lines.map(({ type }) => type).slice(-2)).toEqual(["acceptance.checked", "run.ended"]);
  });

  it("gives the author the findings and one more attempt, then verifies again", async () => {
    const { result, heard } = await walk({
      verify: "auto",
      main: [write("a.txt"), says("Made."), write("a.txt", "better\n"), says("Mended.")],
      verification: [
        bash("cat a.txt"),
        says("a.txt:1 is text.\n**VERDICT: fail**"),
        bash("cat a.txt"),
        says("VERDICT: pass"),
      ],
    });
    expect(result).toMatchObject({ text: "Mended.", acceptance: { ok: true, verdict: "pass" } });
    expect(heard[2]).toMatch(/Verification failed\..*<task_result agent="Verification".*a\.txt:1 is text/s);
  });

  it("reports the work as not verified if it fails twice, or if the author changes nothing", async () => {
    const fails = [bash("cat a.txt"), says("Wrong.\nVERDICT: fail")];
    const twice = await walk({
      verify: "auto",
      main: [write("a.txt"), says("Made."), write("a.txt", "worse\n"), says("Mended?")],
      verification: [...fails, ...fails],
    });
    expect(twice.result).toMatchObject({ text: "Mended?", acceptance: { ok: false, verdict: "fail" } });
    const stubborn = await walk({
      verify: "auto",
      acceptance: ["true"],
      main: [write("a.txt"), says("Made."), says("It is right.")],
      verification: fails,
    });
    expect(stubborn.result).toMatchObject({ text: "It is right.", acceptance: { ok: false, verdict: "fail" } });
  });

  it("accepts no verdict from an agent that ran nothing, and explains why there is no verdict", async () => {
    const idle = await walk({
      verify: "auto",
      main: [write("a.txt"), says("Made.")],
      verification: [says("Looks good.\nVERDICT: pass")],
    });
    expect(idle.result.acceptance).toMatchObject({ ok: false, verdict: "inconclusive" });
    const bare = await walk({ verify: "auto", bare: true, main: [write("a.txt"), says("Made.")] });
    const output = expect.stringContaining("needs its own worktree");
    expect(bare.result.acceptance).toMatchObject({ ok: false, verdict: "inconclusive", output });
  });

  it("does nothing if no file was changed, or if the given checks fail", async () => {
    const { result } = await walk({ verify: "auto", main: [bash("ls"), says("Looked.")] });
    expect(result.acceptance).toBeUndefined();
    const checked = await walk({
      verify: "auto",
      acceptance: ["test -f b.txt"],
      main: [write("a.txt"), says("Made."), says("Still.")],
    });
    expect(checked.result.acceptance).toMatchObject({ command: "test -f b.txt", ok: false });
  });

  it("reports at once that there is no verification agent, and then that the work is not verified", async () => {
    const main = [write("a.txt"), says("Made.")];
    const { notices, result } = await walk({ verify: "auto", main, disallowedTools: ["Task(Verification)"] });
    expect(notices).toEqual([expect.stringContaining("the Verification agent is switched off or denied here")]);
    const output = expect.stringContaining("denies it");
    expect(result.acceptance).toMatchObject({ ok: false, verdict: "inconclusive", output });
  });
});

it("a run that is stopped during verification leaves no agent behind, and can be resumed", async () => {
  const { root, cwd, environment } = createPlace();
  const first = createCast({ "The request": [{ hangs: true }], MAIN: [write("a.txt"), says("Made.")] });
  const options = { cwd, home: join(root, "home"), environment, settings: { sandbox: "off", verify: "auto" } as const };
  const session = await openSession({ permissionMode: "acceptEdits", ...options, model: first });
  const run = session.prompt("MAIN: make it.");
  const verifier: string[] = [];
  for await (const update of run) {
    if (update.type !== "subagent.event" || !("id" in update.event)) continue;
    verifier.push(update.event.type);
    if (update.event.type === "model.requested") run.stop("interrupted");
  }
  expect(await run.result).toMatchObject({ outcome: "stopped", reason: "interrupted" });
  expect(verifier).toContain("run.ended");
  await session.close();
  const verification = [bash("cat a.txt"), says("VERDICT: pass")];
  const model = createCast({ "The request": verification, MAIN: [write("b.txt"), says("Made more.")] });
  const again = await openSession({ permissionMode: "acceptEdits", ...options, model, resume: session.id });
  const result = await again.prompt("Go on.").result;
  await again.close();
  expect(result).toMatchObject({ text: "Made more.", acceptance: { ok: true } });
});

/** Sessions that follow one another in one place, each with its own model. */
function lives() {
  const { root, cwd, environment } = createPlace();
  const home = join(root, "home");
  const open = async (parts: Parameters<typeof createCast>[0], options: SessionOptions = {}) => {
    const model = createCast(parts);
    const settings = { sandbox: "off", verify: "auto", ...options.settings } as const;
    const session = await openSession({
      permissionMode: "bypassPermissions",
      ...options,
      settings,
      cwd,
      home,
      environment,
      model,
    });
    return { session, model };
  };
  return { open, cwd, home };
}

const passes = [bash("git status"), says("VERDICT: pass")];
const task = (prompt: string, more: object = {}) => ({
  calls: [{ name: "Task", input: { description: "work", prompt, subagent_type: "general-purpose", ...more } }],
});

describe("verification that is owed", () => {
  const cases: [string, { options?: SessionOptions; stops?: true }][] = [
    ["the turn limit", { options: { maxTurns: 1 } }],
    ["an interruption", { stops: true }],
  ];
  it.each(cases)("is named in the result after %s, and made up for when the session is resumed", async (_, how) => {
    const { open } = lives();
    const first = await open({ MAIN: [write("a.txt"), { text: "Half.", hangs: true }] }, how.options);
    const run = first.session.prompt("MAIN: make it.");
    for await (const update of run) if (update.type === "text.delta") run.stop("interrupted");
    const cut = await run.result;
    await first.session.close();
    expect(cut.outcome).not.toBe("succeeded");
    expect(cut.acceptance).toMatchObject({ command: "Verification", ok: false, verdict: "inconclusive" });
    expect(cut.acceptance?.output).toMatch(/not verified: a\.txt\./);
    const again = await open({ "The request": passes, MAIN: [says("Made.")] }, { resume: first.session.id });
    const result = await again.session.prompt("").result;
    await again.session.close();
    expect(result).toMatchObject({ text: "Made.", acceptance: { ok: true, verdict: "pass" } });
    expect(firstPrompt(again.model.requests("The request")[0] ?? [])).toMatch(/Changed files:\na\.txt$/);
  });

  const untried: [string, SessionOptions][] = [
    ["was cut off by the budget", { settings: { budget: { turns: 2 } } }],
    ["could not be started", { disallowedTools: ["Task(Verification)"] }],
  ];
  it.each(untried)("stays due if the verifier %s", async (_, options) => {
    const { open } = lives();
    const first = await open({ MAIN: [write("a.txt"), says("Made.")] }, options);
    expect((await first.session.prompt("MAIN: make it.").result).acceptance).toMatchObject({ ok: false });
    await first.session.close();
    const again = await open({ "The request": passes, MAIN: [says("It has one line.")] }, { resume: first.session.id });
    expect((await again.session.prompt("How long is it?").result).acceptance).toMatchObject({ ok: true });
    await again.session.close();
    expect(firstPrompt(again.model.requests("The request")[0] ?? [])).toMatch(/Changed files:\na\.txt$/);
  });

  it.each([true, false])(
    "says where the changes of an agent in a worktree are (background: %s)",
    async (background) => {
      const { open, home } = lives();
      const { session, model } = await open({
        "The request": passes,
        MAIN: [
          task("CHILD: make it", { isolation: "worktree", run_in_background: background }),
          ...(background ? [says("I wait.")] : []),
          says("Made."),
        ],
        CHILD: [write("a.txt"), bash("node -e 0 > b.txt"), says("Done.")],
      });
      const { facts } = await session.prompt("MAIN: have it made.").result;
      await session.close();
      const [file = ""] = facts.filesChanged;
      expect(file).toMatch(/^\/.*\/worktrees\/.*\/a\.txt$/);
      expect(file.startsWith(home)).toBe(true);
      const prompt = firstPrompt(model.requests("The request")[0] ?? []);
      expect(prompt).toContain(`Changed files:\n${file}\n`);
      expect(prompt).toContain(`node -e 0 > b.txt (in ${dirname(file)})`);
      expect(prompt).toMatch(/absolute path are not in your copy/);
    },
  );

  it.each(["an interruption", "the turn limit"])(
    "is named after %s even if only background agents have changed something",
    async (how) => {
      const { open } = lives();
      const { promise: begun, resolve: begin } = createDeferred<void>();
      const command = "echo begun; touch b.txt; sleep 60";
      const first = await open(
        {
          MAIN: [
            task("CHILD: make it", { run_in_background: true }),
            { ...bash("true"), after: begun },
            { text: "I wait.", hangs: true },
          ],
          CHILD: [write("a.txt"), bash(command), says("Done.")],
        },
        how === "the turn limit" ? { maxTurns: 2 } : {},
      );
      const run = first.session.prompt("MAIN: have it made.");
      for await (const update of run) {
        if (update.type === "subagent.event" && update.event.type === "tool.progressed") begin();
        if (update.type === "text.delta") run.stop("interrupted");
      }
      expect((await run.result).acceptance).toMatchObject({
        ok: false,
        verdict: "inconclusive",
        output: expect.stringContaining(`not verified: a.txt, ${command}.`),
      });
      await first.session.close();
      const again = await open({ "The request": passes, MAIN: [says("Made.")] }, { resume: first.session.id });
      expect((await again.session.prompt("").result).acceptance).toMatchObject({ ok: true });
      await again.session.close();
    },
  );

  it("is due after a command that was interrupted and did not end at once", async () => {
    const { open } = lives();
    const command = "trap '' TERM; echo begun; touch a.txt; while :; do sleep 0.1; done";
    const first = await open({ MAIN: [bash(command)] });
    const run = first.session.prompt("MAIN: make it.");
    for await (const update of run) if (update.type === "tool.progressed") run.stop("interrupted");
    expect(await run.result).toMatchObject({
      facts: { commands: [{ command, exitCode: null }] },
      acceptance: { ok: false, output: expect.stringContaining(command) },
    });
    await first.session.close();
  });

  it("is made up for only once, and by no run that changes nothing after that", async () => {
    const { open } = lives();
    const { session, model } = await open({
      "The request": passes,
      MAIN: [write("a.txt"), says("Made."), says("It has one line.")],
    });
    expect((await session.prompt("MAIN: make it.").result).acceptance).toMatchObject({ ok: true });
    expect((await session.prompt("How long is it?").result).acceptance).toBeUndefined();
    await session.close();
    model.assertDone();
  });

  it("includes files that failed before and were not verified since", async () => {
    const { open } = lives();
    const fails = [bash("git status"), says("VERDICT: fail")];
    const { session, model } = await open({
      "The request": [...fails, ...passes],
      MAIN: [write("a.txt"), says("Made."), says("It is right."), says("Because."), write("b.txt"), says("More.")],
    });
    expect((await session.prompt("MAIN: make it.").result).acceptance).toMatchObject({ verdict: "fail" });
    // The failure was reported, so a question does not report it again.
    expect((await session.prompt("Why?").result).acceptance).toBeUndefined();
    expect((await session.prompt("Make more.").result).acceptance).toMatchObject({ verdict: "pass" });
    await session.close();
    model.assertDone();
    expect(firstPrompt(model.requests("The request")[2] ?? [])).toMatch(/Changed files:\na\.txt\nb\.txt$/);
  });

  it("is due after changes by a background agent, whose files are among the run's facts", async () => {
    const { open } = lives();
    const { session, model } = await open({
      "The request": passes,
      MAIN: [task("CHILD: make it", { run_in_background: true }), says("I wait."), says("Made.")],
      CHILD: [write("a.txt"), says("Done.")],
    });
    const result = await session.prompt("MAIN: have it made.").result;
    await session.close();
    expect(result).toMatchObject({ facts: { filesChanged: ["a.txt"] }, acceptance: { ok: true } });
    expect(firstPrompt(model.requests("The request")[0] ?? [])).toMatch(/Changed files:\na\.txt$/);
  });

  it("is due after a command that may have changed files, but not after one that only reads", async () => {
    const { open } = lives();
    const { session, model } = await open({
      "The request": passes,
      MAIN: [bash("cat /dev/null"), says("Empty."), bash("node -e 0 > a.txt"), says("Made.")],
    });
    expect((await session.prompt("MAIN: look.").result).acceptance).toBeUndefined();
    expect((await session.prompt("Make it.").result).acceptance).toMatchObject({ ok: true });
    await session.close();
    expect(firstPrompt(model.requests("The request")[0] ?? [])).toMatch(
      /Commands that may have changed files:\nnode -e 0 > a\.txt\n\nWhich files .* is not known/,
    );
  });

  it.each([false, true])(
    "is due after a command of a subagent's subagent (background: %s)",
    async (run_in_background) => {
      const { open } = lives();
      const { session } = await open(
        {
          "The request": passes,
          MAIN: [task("CHILD: make it"), says("Made.")],
          CHILD: [
            task("GRAND: make it", { run_in_background }),
            ...(run_in_background ? [says("I wait.")] : []),
            says("Done."),
          ],
          GRAND: [bash("node -e 0 > a.txt"), says("Done.")],
        },
        { settings: { subagents: { maxDepth: 2 } } },
      );
      const { facts, acceptance } = await session.prompt("MAIN: have it made.").result;
      await session.close();
      expect(facts.agentCommands).toEqual(["node -e 0 > a.txt"]);
      expect(acceptance).toMatchObject({ ok: true });
    },
  );

  it("is not due after the verifier's own changes in its scratch copy", async () => {
    const { open } = lives();
    const { session, model } = await open({
      MAIN: [task("CHECK: try it", { subagent_type: "Verification" }), says("I wait."), says("It holds.")],
      CHECK: [write("attack.txt"), bash("node -e 0 > b.txt"), says("VERDICT: pass")],
    });
    const result = await session.prompt("MAIN: have it checked.").result;
    await session.close();
    model.assertDone();
    expect(result).toMatchObject({ outcome: "succeeded", facts: { filesChanged: [] } });
    expect(result.acceptance).toBeUndefined();
  });

  it("is not due if the changes were made before the setting was on", async () => {
    const { open } = lives();
    const before = await open({ MAIN: [write("a.txt"), says("Made.")] }, { settings: { verify: "off" } });
    await before.session.prompt("MAIN: make it.").result;
    await before.session.close();
    const { session } = await open({ MAIN: [says("One line.")] }, { resume: before.session.id });
    expect((await session.prompt("How long is it?").result).acceptance).toBeUndefined();
    await session.close();
  });
});

describe("verify: suggest", () => {
  it("tells the author once, after its first change", async () => {
    const main = [bash("ls"), write("a.txt"), write("b.txt"), says("Made.")];
    const { heard, result } = await walk({ verify: "suggest", main });
    expect(heard.map((text) => text.includes("subagent_type Verification"))).toEqual([false, false, true, false]);
    expect(result.acceptance).toBeUndefined();
  });

  it("adds nothing if there is nothing to suggest, and is off by default", async () => {
    const main = [write("a.txt"), says("Made.")];
    const without = await walk({ verify: "suggest", main, disallowedTools: ["Task"] });
    const off = await walk({ main });
    for (const { heard } of [without, off]) expect(heard[1]).toBe("");
  });
});
