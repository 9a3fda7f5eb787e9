import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { bundleProgram } from "../../testing/bundle-program.test-support.ts";
import { needs } from "../../testing/needs.test-support.ts";
import { createSandboxPlace, needsSandbox, type Ran, type SandboxPlace } from "./sandbox.test-support.ts";
import { checkInterrupted } from "./watch-paths.ts";

let place: SandboxPlace;
beforeEach(() => {
  place = createSandboxPlace();
  execFileSync("git", ["init", "-q", place.root]);
  rmSync(join(place.root, ".git/hooks"), { recursive: true });
});
afterEach(() => place.remove());

const at = (name: string): string => join(place.root, name);
const until = (name: string): string => `while [ ! -e ${name} ]; do sleep 0.02; done`;

/** Starts a command and resolves when it is running. */
async function start(command: string): Promise<{ readonly ran: Promise<Ran> }> {
  const ran = place.run(`touch started; ${command}`);
  await vi.waitUntil(() => existsSync(at("started")), { timeout: 20_000 });
  return { ran };
}
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

describe("protected files that a tool writes while a command runs", needsSandbox, () => {
  it.each([
    ["another file", ".agents/a.md", "echo x > .agents/evil.md", ".agents/evil.md"],
    ["another hook", ".git/hooks/pre-push", "echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"],
    ["a directory next to it", ".agents/a.md", "mkdir -p .agents/x/y; echo x > .agents/x/y/z", ".agents/x"],
    ["other content", ".agents/a.md", "printf yes > .agents/a.md", ".agents/a.md"],
    ["a second name", ".agents/a.md", "ln .agents/a.md other", ".agents/a.md"],
    ["a link to the same content", ".agents/a.md", "mv .agents b; ln -s b .agents", ".agents"],
    ["a pipe in its place", ".agents/s/a.md", "rm .agents/s/a.md; mkfifo .agents/s/a.md", ".agents/s/a.md"],
  ])("stay in place, but changes by a command are moved aside: %s", async (_, written, command, moved) => {
    const running = await start(`${until(written)}; ${command}`);
    await place.workspace.write(at(written), Buffer.from("own"), {});
    const { why } = await running.ran;
    expect(isThere(at(moved))).toBe(false);
    if (!written.startsWith(moved)) expect(readFileSync(at(written), "utf8")).toBe("own");
    expect(place.told).toEqual([expect.stringContaining(`A command created ${at(moved)}, which`)]);
    expect(why).toContain(`${at(moved)} (now `);
  });

  it("stay in place, even if they are written several times or in a new directory", async () => {
    const running = await start(until("done"));
    for (const content of ["one", "two"])
      await place.workspace.write(at(".claude/agents/a.md"), Buffer.from(content), {});
    await place.workspace.write(at("done"), Buffer.from(""), {});
    await running.ran;
    expect(readFileSync(at(".claude/agents/a.md"), "utf8")).toBe("two");
    expect(place.told).toEqual([]);
  });
});

describe("symlinks at protected paths", needsSandbox, () => {
  const link = (target: string, name: string): void => {
    mkdirSync(dirname(at(name)), { recursive: true });
    symlinkSync(target, at(name));
  };

  it.each([
    [".git/hooks", "../hooks", "hooks", "echo x > hooks/pre-commit; echo x > .git/hooks/pre-push"],
    [".git/info", "../more/info", "more/info", "echo x > .git/info/attributes"],
    [".claude", "conf", "conf", "mkdir conf/agents; mv conf c"],
    [".vscode", "conf", "conf", "echo x > .vscode/tasks.json"],
  ])("protect their targets from changes: %s", async (name, target, directory, command) => {
    rmSync(at(".git/info"), { recursive: true });
    mkdirSync(at(directory), { recursive: true });
    link(target, name);
    expect(await place.run(command)).toMatchObject({ code: 1 });
    expect(readdirSync(at(directory))).toEqual([]);
    expect(readlinkSync(at(name))).toBe(target);
    expect(place.told).toEqual([]);
  });

  it.each([
    ["replaced by a directory", "rm .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit"],
    ["replaced by another link", "mkdir evil && ln -sfn ../evil .git/hooks"],
    ["redirected above the target", "mv tools t && mkdir -p tools/hooks && echo x > tools/hooks/pre-commit"],
  ])("are moved aside if they are %s", async (_, command) => {
    mkdirSync(at("tools/hooks"), { recursive: true });
    link("../tools/hooks", ".git/hooks");
    const { why } = await place.run(command);
    expect(isThere(at(".git/hooks"))).toBe(false);
    expect(place.told).toEqual([expect.stringContaining(`${at(".git/hooks")}, which`)]);
    expect(why).toContain(`${at(".git/hooks")} (now `);
  });

  it("are moved aside if a command creates their target, but not if a tool does", async () => {
    link("conf/mcp.json", ".mcp.json");
    await place.run("mkdir conf && echo x > conf/mcp.json");
    expect(isThere(at(".mcp.json"))).toBe(false);
    rmSync(at("conf"), { recursive: true });
    link("conf/mcp.json", ".mcp.json");
    place.told.length = 0;
    const running = await start(until(".mcp.json"));
    await place.workspace.write(at("conf/mcp.json"), Buffer.from("{}"), {});
    await running.ran;
    expect(existsSync(at(".mcp.json"))).toBe(true);
    expect(place.told).toEqual([]);
  });

  it("can't be used to read hidden files", async () => {
    mkdirSync(join(place.home, ".ssh"));
    writeFileSync(join(place.home, ".ssh/id"), "SECRET");
    link(join(place.home, ".ssh"), ".claude");
    expect((await place.run("cat .claude/id")).output).not.toContain("SECRET");
  });

  it("protect the repository that `.git` points to, and `.git` itself", async () => {
    renameSync(at(".git"), at("repository"));
    link("repository", ".git");
    const who = "-c user.name=a -c user.email=a@b.c";
    expect(await place.run(`git ${who} commit -q --allow-empty -m one`)).toMatchObject({ code: 0 });
    expect(await place.run("echo x >> .git/config")).toMatchObject({ code: 1 });
    expect(place.told).toEqual([]);
    await place.run("rm .git && cp -r repository .git && echo x >> .git/config");
    expect(isThere(at(".git"))).toBe(false);
  });

  it("do not affect a `.git` file that points to an unknown repository", async () => {
    renameSync(at(".git"), join(place.top, "repository"));
    writeFileSync(at(".git"), "gitdir: ../repository\n");
    expect(await place.run("rm -f .git; cp -r ../repository .git")).toMatchObject({ code: 1 });
    expect(readFileSync(at(".git"), "utf8")).toBe("gitdir: ../repository\n");
  });
});

describe("with the state directory on another file system", {
  ...needs("/dev/shm", existsSync("/dev/shm")),
  ...needsSandbox,
}, () => {
  it.each([
    [".git/hooks", "mkdir .git/hooks && mkfifo .git/hooks/pre-commit && echo x > .git/hooks/pre-push"],
    [".agents", "mkdir .agents && truncate -s 40G .agents/big && chmod 0 .agents"],
  ])("%s is moved within its own file system, without copying", async (name, command) => {
    const elsewhere = mkdtempSync("/dev/shm/sandbox-");
    onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
    expect(statSync(elsewhere).dev).not.toBe(statSync(place.root).dev);
    const other = createSandboxPlace({ scratch: join(elsewhere, "session/scratch") });
    onTestFinished(() => other.remove());
    execFileSync("git", ["init", "-q", other.root]);
    rmSync(join(other.root, ".git/hooks"), { recursive: true });
    const { why } = await other.run(command);
    const path = join(other.root, name);
    expect(isThere(path)).toBe(false);
    const [, to = ""] = /\(now (\S+)\)/.exec(why ?? "") ?? [];
    expect(to).toContain(`${dirname(path)}/.retinue-created-`);
    expect(isThere(to)).toBe(true);
    expect(other.told).toEqual([expect.stringContaining(to)]);
  });
});

describe("after a session was killed,", needsSandbox, () => {
  it("the next session moves aside files that its commands created, but not files that Retinue wrote", async () => {
    const state = join(place.top, "state");
    mkdirSync(state, { recursive: true });
    const program = bundleProgram(join(import.meta.dirname, "run-until-killed.test-support.ts"));
    const child = spawn(process.execPath, [program, place.root, state], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    checkInterrupted(state, (message) => place.told.push(message));
    expect(place.told).toEqual([]);
    expect(isThere(at(".claude/evil.md"))).toBe(true);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    checkInterrupted(state, (message) => place.told.push(message));
    expect(place.told).toEqual([
      expect.stringContaining(`that was killed created ${at(".claude/evil.md")}, which`),
      expect.stringContaining(`that was killed created ${at(".git/hooks")}, which`),
    ]);
    expect([".claude/own.md", ".claude/evil.md", ".git/hooks"].map((name) => isThere(at(name)))).toEqual([
      true,
      false,
      false,
    ]);
    place.told.length = 0;
    checkInterrupted(state, (message) => place.told.push(message));
    expect(place.told).toEqual([]);
    expect(readdirSync(join(state, "running-commands"))).toEqual([]);
  });

  it("there is no record of commands that had finished", async () => {
    const other = createSandboxPlace({ state: place.top });
    onTestFinished(() => other.remove());
    await other.run("true");
    expect(readdirSync(join(place.top, "running-commands"))).toEqual([]);
  });
});
