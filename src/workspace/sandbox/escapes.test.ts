import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { SandboxOptions } from "./create-sandbox.ts";
import { createSandboxPlace, needsSandbox, type SandboxPlace } from "./sandbox.test-support.ts";

let place: SandboxPlace;
beforeEach(() => {
  place = createSandboxPlace();
});
afterEach(() => place.remove());

describe("files", needsSandbox, () => {
  it("can be written in the workspace and in the temporary directory, under either name", async () => {
    const { code, output } = await place.run('echo 1 > a && echo 2 > "$TMPDIR/b" && echo 3 > /tmp/c && mktemp');
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining(`${place.scratch}/tmp.`) });
    expect(readFileSync(join(place.root, "a"), "utf8")).toBe("1\n");
    expect(readFileSync(join(place.scratch, "b"), "utf8")).toBe("2\n");
    expect((await place.run("cat /tmp/b $TMPDIR/c")).output).toBe("2\n3\n");
  });

  it.each([
    ["a path", (top: string) => `echo x > ${top}/escaped`],
    ["a link", (top: string) => `ln -s ${top} l && echo x > l/escaped`],
    ["..", () => "echo x > ../escaped"],
    ["/proc/self/root", (top: string) => `echo x > /proc/self/root${top}/escaped`],
    ["/proc/1/root", (top: string) => `echo x > /proc/1/root${top}/escaped`],
    ["/proc/self/cwd", () => "echo x > /proc/self/cwd/../escaped"],
    ["a remount", (top: string) => `mount -o remount,rw / ; mount --bind ${top} . ; echo x > ${top}/escaped`],
    ["another namespace", (top: string) => `unshare -Urm sh -c 'mount -o remount,rw / ; echo x > ${top}/escaped'`],
    ["a process in the background", (top: string) => `(setsid sh -c 'echo x > ${top}/escaped' &) ; sleep 0.2`],
    ["a hard link", (top: string) => `ln ${top}/state-file l ; echo x >> l ; echo x > ${top}/escaped`],
  ])("outside the workspace can't be written through %s", async (_, command) => {
    writeFileSync(join(place.top, "state-file"), "kept");
    await place.run(command(place.top));
    expect(existsSync(join(place.top, "escaped"))).toBe(false);
    expect(readFileSync(join(place.top, "state-file"), "utf8")).toBe("kept");
  });

  it("that contain the user's keys or are from other sessions are hidden", async () => {
    mkdirSync(join(place.home, ".ssh"));
    writeFileSync(join(place.home, ".ssh/id"), "SECRET");
    mkdirSync(join(place.home, ".m2"));
    for (const name of [".netrc", ".npmrc", ".git-credentials", ".bash_history", ".m2/settings.xml"])
      writeFileSync(join(place.home, name), "SECRET");
    mkdirSync(join(place.top, "state/other"), { recursive: true });
    writeFileSync(join(place.top, "state/other/transcript"), "SECRET");
    const { output, why } = await place.run(
      `cd ${place.home} && cat .ssh/id .netrc .npmrc .git-credentials .bash_history .m2/settings.xml ${place.home}/.ssh/id ${place.top}/state/*/*`,
    );
    expect(output).not.toContain("SECRET");
    // Maven would refuse to start if the file had no content.
    expect(output).toContain("<settings/>");
    expect(why).toContain("is hidden from commands");
  });

  it("outside the workspace can be written if the settings allow it", async () => {
    const allowed = join(place.top, "cache");
    mkdirSync(allowed);
    const other = createSandboxPlace({ writable: [allowed] });
    expect(await other.run(`echo x > ${allowed}/y`)).toMatchObject({ code: 0 });
    await other.remove();
    expect(existsSync(join(allowed, "y"))).toBe(true);
  });
});

describe("files that control programs outside the sandbox", needsSandbox, () => {
  beforeEach(() => {
    execFileSync("git", ["init", "-q", place.root]);
    mkdirSync(join(place.root, ".claude"));
    writeFileSync(join(place.root, ".claude/settings.json"), "{}");
    writeFileSync(join(place.root, ".envrc"), "");
  });

  it.each([
    ["a hook", "echo x > .git/hooks/post-checkout"],
    ["a hook by renaming", "mv .git/hooks .git/h && mkdir .git/hooks && echo x > .git/hooks/post-checkout"],
    ["git's configuration", "git config core.fsmonitor ./evil"],
    ["git's configuration by renaming", "cp .git/config c && echo x >> c && mv c .git/config"],
    ["the whole git directory", "mv .git g && cp -r g .git && echo x > .git/hooks/post-checkout"],
    ["settings", "echo x > .claude/settings.json"],
    ["settings by renaming", "mv .claude c && mkdir .claude && echo x > .claude/settings.json"],
    ["a startup file", "echo x > .envrc"],
    ["a startup file by removing it", "rm -f .envrc && echo x > .envrc"],
  ])("can't be changed: %s", async (_, command) => {
    const look = (): Buffer =>
      execFileSync("tar", ["cf", "-", "--mtime=@0", "--sort=name", ".git", ".claude", ".envrc"], { cwd: place.root });
    const before = look();
    const { code, why } = await place.run(command);
    expect(code).not.toBe(0);
    expect(why).toMatch(/read-only for commands|^Sandbox/);
    expect(look().equals(before)).toBe(true);
  });

  it("do not prevent git add, commit, branch and stash", async () => {
    const who = "-c user.name=a -c user.email=a@b.c";
    const steps = [
      `git add f`,
      `git ${who} commit -qm one`,
      "git switch -qc other",
      "echo 2 > f",
      `git ${who} stash -q`,
    ];
    const { code, output } = await place.run(`echo 1 > f && ${steps.join(" && ")} && git log --oneline | wc -l`);
    expect({ code, output: output.trim() }).toEqual({ code: 0, output: "1" });
  });

  it("are moved aside and reported if they redirect git", async () => {
    await place.run("echo ../evil > .git/commondir; mkdir .vscode; echo x > .vscode/tasks.json");
    expect(existsSync(join(place.root, ".git/commondir"))).toBe(false);
    expect(place.told).toEqual([expect.stringMatching(/commondir.*was moved/)]);
  });

  it.each([
    [".claude", "mkdir -p .claude/agents && echo x > .claude/agents/a.md"],
    [".mcp.json", "echo {} > .mcp.json"],
    [".agents", "ln -s src .agents"],
    [".git/hooks", "mkdir .git/hooks && echo x > .git/hooks/pre-commit"],
    [".git/info", "mkdir .git/info && echo '* filter=x' > .git/info/attributes"],
    [".git/config.worktree", "echo x > .git/config.worktree"],
  ])("are moved aside and reported to the user and the model if a command creates %s", async (name, command) => {
    for (const path of [".claude", ".git/hooks", ".git/info"])
      rmSync(join(place.root, path), { recursive: true, force: true });
    const { why } = await place.run(command);
    expect(lstatSync(join(place.root, name), { throwIfNoEntry: false })).toBeUndefined();
    expect(place.told).toEqual([expect.stringContaining(`A command created ${join(place.root, name)}, which`)]);
    const [, moved = ""] = /moved to (\S+)\. Review/.exec(place.told[0] ?? "") ?? [];
    expect(lstatSync(moved)).toBeDefined();
    expect(why).toContain(`${join(place.root, name)} (now ${moved})`);
  });

  it("are not moved if they are reached through a symlink", async () => {
    const outside = join(place.top, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "git"), "kept");
    await place.run(`ln -s ${outside} .config`);
    expect(readFileSync(join(outside, "git"), "utf8")).toBe("kept");
  });

  it("stay unchanged when a worktree commits to its repository", async () => {
    const who = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    execFileSync("git", ["-C", place.root, ...who, "commit", "-q", "--allow-empty", "-m", "one"]);
    const copy = join(place.top, "copy");
    execFileSync("git", ["-C", place.root, "worktree", "add", "-q", copy]);
    const run = (command: string) => place.run(command, copy);
    expect(await run(`git ${who.join(" ")} commit -q --allow-empty -m two`)).toMatchObject({ code: 0 });
    for (const path of ["escaped", ".git/hooks/post-checkout", ".git/config", ".git/worktrees/copy/commondir"])
      expect(await run(`echo x > ${join(place.root, path)}`)).toMatchObject({ code: 1 });
    expect(await run("rm .git && echo x > .git")).toMatchObject({ code: 1 });
  });

  it("stay protected if a path is replaced with a symlink at the last moment", async () => {
    const victim = join(place.top, "victim");
    mkdirSync(victim);
    await place.sandbox.ready();
    const { root } = place;
    const environment = { PATH: "/usr/bin:/bin" };
    const args = ["-c", `echo x > ${victim}/escaped; echo x > .git/escaped`];
    const confined = place.sandbox.confine({ root, cwd: root, command: "sh", args, environment });
    renameSync(join(root, ".git"), join(root, "g"));
    symlinkSync("../victim", join(root, ".git"));
    const { status, stderr } = spawnSync(confined.command, confined.args, { env: environment, encoding: "utf8" });
    expect(readdirSync(victim)).toEqual([]);
    expect({ status, stderr }).toEqual({ status: 125, stderr: expect.stringContaining("Run the command again") });
  });

  it("stay protected if a `.git` file names a directory that does not refer back to it", async () => {
    const other = createSandboxPlace();
    const victim = join(other.top, "victim/worktrees/w");
    mkdirSync(victim, { recursive: true });
    mkdirSync(join(other.top, "victim/objects"));
    writeFileSync(join(other.root, ".git"), `gitdir: ${victim}\n`);
    await other.run(`echo x > ${victim}/escaped`);
    expect(existsSync(join(victim, "escaped"))).toBe(false);
    await other.remove();
  });
});

describe("a workspace inside a repository", needsSandbox, () => {
  const who = ["-c", "user.name=a", "-c", "user.email=a@b.c"];

  /** Creates a repository with one commit in the parent directory of the workspace. */
  async function inRepository(own: Partial<SandboxOptions>, parent: string): Promise<SandboxPlace> {
    const inner = createSandboxPlace(own, parent);
    onTestFinished(() => inner.remove());
    writeFileSync(join(inner.top, ".gitignore"), "/home\n/state\n");
    writeFileSync(join(inner.top, "outer"), "outer\n");
    writeFileSync(join(inner.root, "inner"), "inner\n");
    const git = (...args: string[]) => execFileSync("git", ["-C", inner.top, ...who, ...args]);
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "one");
    return inner;
  }

  it("below /tmp sees the whole working tree, but can write only its own part", async () => {
    const inner = await inRepository({}, "/tmp");
    mkdirSync(join(inner.home, ".ssh"));
    writeFileSync(join(inner.home, ".ssh/id"), "SECRET");
    mkdirSync(join(inner.top, "state/other"), { recursive: true });
    writeFileSync(join(inner.top, "state/other/transcript"), "SECRET");
    expect(await inner.run("echo 2 > inner && git status --porcelain && cat ../outer")).toMatchObject({
      code: 0,
      output: " M project/inner\nouter\n",
    });
    expect(await inner.run(`git ${who.join(" ")} commit -qam two && git show --format= --name-only`)).toMatchObject({
      code: 0,
      output: "project/inner\n",
    });
    const refused = await inner.run("echo x > ../outer");
    expect(refused).toMatchObject({ code: 1, why: expect.stringContaining("can write only to") });
    expect(await inner.run("echo x > ../.git/hooks/post-checkout")).toMatchObject({ code: 1 });
    expect((await inner.run("cat ../home/.ssh/id ../state/other/transcript")).output).not.toContain("SECRET");
    expect(await inner.run("echo x > /tmp/own && ls /tmp")).toMatchObject({
      code: 0,
      output: expect.stringContaining("own\n"),
    });
  });

  it("below a hidden directory sees the whole working tree", async () => {
    const outer = realpathSync(mkdtempSync("/var/tmp/sandbox-outer-"));
    onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
    writeFileSync(join(outer, "transcript"), "SECRET");
    const inner = await inRepository({ hidden: [outer] }, outer);
    expect(await inner.run(`git status --porcelain && cat ../outer && ls ${outer}`)).toMatchObject({
      code: 0,
      output: `outer\n${basename(inner.top)}\n`,
    });
  });

  it("does not see a repository whose top directory is hidden, so that commands can't commit deletions", async () => {
    const outer = realpathSync(mkdtempSync("/var/tmp/sandbox-outer-"));
    onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
    execFileSync("git", ["init", "-q", outer]);
    writeFileSync(join(outer, "transcript"), "SECRET");
    const inner = createSandboxPlace({ hidden: [outer] }, outer);
    onTestFinished(() => inner.remove());
    expect((await inner.run(`cat ${outer}/transcript`)).output).not.toContain("SECRET");
    expect((await inner.run("git status")).output).toContain("not a git repository");
  });

  it("can be part of a linked worktree below /tmp", async () => {
    const inner = await inRepository({}, "/tmp");
    const copy = join(inner.top, "copy");
    execFileSync("git", ["-C", inner.top, "worktree", "add", "-q", copy]);
    expect(await inner.run("git status --porcelain && cat ../outer", join(copy, "project"))).toMatchObject({
      code: 0,
      output: "outer\n",
    });
  });
});

describe("other processes and hosts", needsSandbox, () => {
  it("can't be reached over the network", async () => {
    const server = createServer((socket) => socket.end("SECRET"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const { output, why } = await place.run(`cat < /dev/tcp/127.0.0.1/${port}; cat < /dev/tcp/1.1.1.1/53`);
    server.close();
    expect(output).not.toContain("SECRET");
    expect(output).toContain("Network is unreachable");
    expect(why).toContain("no network");
  });

  it.each([tmpdir(), ...(existsSync("/dev/shm") ? ["/dev/shm"] : [])])(
    "can't be reached through Unix sockets in %s",
    async (parent) => {
      // The socket is placed where no other test's sandbox sees it, because a command fails if a socket disappears before
      // it is mounted.
      const hidden = createSandboxPlace({}, parent);
      const socket = join(hidden.root, "s");
      const server = createServer((connection) => connection.end("SECRET"));
      await new Promise<void>((resolve) => server.listen(socket, resolve));
      const script = `require("net").connect(process.argv[1]).on("error",e=>console.log(e.code)).pipe(process.stdout)`;
      const { output } = await hidden.run(`${process.execPath} -e '${script}' ${socket}`);
      server.close();
      await hidden.remove();
      expect(output.trim()).toBe("ECONNREFUSED");
      expect((await place.run("ls /run; env | grep -E 'SSH_AUTH_SOCK|DOCKER_HOST'")).output).toBe("");
    },
  );

  it("can't be seen, signaled or traced, and their environment can't be read", async () => {
    const other = spawn("sleep", ["60"], { env: { ...process.env, OTHERS_SECRET: "SECRET" } });
    const { output } = await place.run(
      `kill -9 ${other.pid}; cat /proc/${other.pid}/environ /proc/*/environ | tr '\\0' '\\n' | grep OTHERS; ls /proc | grep -c '^[0-9]'`,
    );
    expect(other.exitCode ?? other.signalCode).toBeNull();
    expect(output).not.toContain("SECRET");
    expect(Number(output.trim().split("\n").at(-1))).toBeLessThan(10);
    other.kill("SIGKILL");
  });

  it("can't be reached with extra privileges, because there are no capabilities or new namespaces", async () => {
    const { output } = await place.run("grep CapEff /proc/self/status; unshare -U true && echo NEW");
    expect(output).toMatch(/CapEff:\s+0{16}/);
    expect(output).not.toContain("NEW");
  });

  it("can't be starved by too many processes", async () => {
    const few = createSandboxPlace({ maxProcesses: 40 });
    onTestFinished(() => few.remove());
    // Bash would keep retrying for a long time.
    const bomb = `exec perl -e 'for (1..60) { my $p = fork; print("$!\\n"), last if !defined $p; sleep(9), exit if !$p }'`;
    const profiles = process.getuid?.() === 0 ? (["run"] as const) : (["run", "read"] as const);
    for (const profile of profiles)
      expect((await few[profile](bomb)).output).toBe("Resource temporarily unavailable\n");
    expect(await few.run("echo still here")).toMatchObject({ code: 0, output: "still here\n" });
  });
});
