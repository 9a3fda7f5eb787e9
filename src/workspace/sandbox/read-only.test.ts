import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { RunningProcess } from "../../ports/index.ts";
import { isRoot, needs } from "../../testing/needs.test-support.ts";
import { findHidden } from "./find-hidden.ts";
import { createSandboxPlace, needsSandbox, type SandboxPlace } from "./sandbox.test-support.ts";

let place: SandboxPlace;
beforeEach(() => {
  place = createSandboxPlace();
});
afterEach(() => place.remove());

function put(path: string, text = "SECRET"): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe("a read-only command", needsSandbox, () => {
  it("reads files in the workspace and the system, and starts programs", async () => {
    put(join(place.root, "a"), "1\n");
    const { code, output, why } = await place.read(
      "cat a; pwd; git --version | cut -c1-3; head -c4 /etc/passwd; id -u",
    );
    expect({ code, output, why }).toEqual({
      code: 0,
      output: `1\n${place.root}\ngit\nroot${process.getuid?.()}\n`,
      why: undefined,
    });
  });

  it.each([
    ["the workspace", () => "echo x > escaped"],
    ["the workspace by adding a directory", () => "mkdir escaped"],
    ["the git directory", () => "touch .git/escaped; git init -q; git add -A"],
    ["a directory that settings let other commands write to", (top: string) => `touch ${top}/cache/escaped`],
    ["the directory above", () => "touch ../escaped"],
    ["the home directory", () => "touch ~/escaped"],
    ["the scratch directory", (top: string) => `touch ${top}/state/scratch/escaped`],
    ["files through /proc/self/root", (top: string) => `touch /proc/self/root${top}/project/escaped`],
    [
      "files after a remount",
      (top: string) => `mount -o remount,rw ${top}/project; mount -o remount,rw /; touch escaped`,
    ],
    ["files in another namespace", () => `unshare -Urm sh -c 'mount -o remount,rw /; touch escaped'`],
    ["the mode of a file", () => "chmod 777 kept; echo x > kept"],
    ["files by removing them", () => "rm -rf kept .git"],
  ])("can't change %s", async (_, command) => {
    const cache = join(place.top, "cache");
    mkdirSync(cache);
    const own = createSandboxPlace({ writable: [cache] }, place.top);
    execFileSync("git", ["init", "-q", own.root]);
    put(join(own.root, "kept"), "kept");
    const look = (): string => execFileSync("find", [place.top, "-printf", "%p %m %s\n"]).toString();
    await own.sandbox.ready();
    const before = look();
    await own.read(command(own.top));
    expect(look()).toBe(before);
    await own.sandbox.close();
  });

  it("explains that it ran read-only, and what to do", async () => {
    const { why } = await place.read("echo x > a");
    expect(why).toMatch(
      /ran read-only, because no permission rule .* could not write files\. .*ask the user to add an allow rule/,
    );
    expect((await place.read("cat < /dev/tcp/127.0.0.1/9")).why).toContain("It had no network access.");
    expect((await place.read("ls ..")).why).toContain("looked empty");
    expect((await place.read("ls . && false")).why).toBeUndefined();
  });

  it("has its own temporary directories, which are empty and are removed afterwards", async () => {
    await place.run("echo SECRET > /tmp/s");
    const { output } = await place.read("ls -A /tmp /var/tmp; echo x > /tmp/y && cat /tmp/y; mktemp");
    expect(output).toMatch(/x\n\/tmp\/tmp\.\w+\n$/);
    expect(output).not.toContain("SECRET");
    expect(readdirSync(place.scratch)).toEqual(["s"]);
    const other = createSandboxPlace();
    onTestFinished(() => other.remove());
    const names = (await place.read("ls /var/tmp")).output.split("\n");
    expect(names).toContain(basename(place.top));
    expect(names).not.toContain(basename(other.top));
  });

  it("can't reach the network or the session's servers", async () => {
    const server = await start(`exec 3<>/dev/null; exec ${process.execPath} -e '
      require("http").createServer((q,r)=>r.end("SECRET")).listen(8124,"127.0.0.1",()=>console.log("up"))'`);
    const get = "exec 3<>/dev/tcp/127.0.0.1/8124; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
    expect((await place.run(get)).output).toContain("SECRET");
    expect((await place.read(get)).output).not.toContain("SECRET");
    await server.end();
    const outside = createServer((socket) => socket.end("SECRET"));
    await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve));
    const { port } = outside.address() as { port: number };
    expect((await place.read(`cat < /dev/tcp/127.0.0.1/${port}`)).output).not.toContain("SECRET");
    outside.close();
    expect((await place.read("cat /proc/net/dev | grep -vc lo:")).output).toBe("2\n");
  });

  it("sees only programs, the repository and readable directories in the home directory", async () => {
    const home = (path: string): string => join(place.home, path);
    for (const path of ["notes", ".ssh/id", ".npmrc", ".config/app/x", ".cargo/credentials.toml"]) put(home(path));
    for (const path of [".nvm/a", ".cargo/bin/b", "tools/c", "skills/d", ".gitconfig"]) put(home(path), "shown\n");
    put(join(place.top, "state/other"));
    const workspace = join(place.home, "src/project");
    mkdirSync(workspace, { recursive: true });
    const script = `cd ${place.home}; ls -A . src; cat .nvm/a .cargo/bin/b tools/c skills/d; cat notes .ssh/id .npmrc .config/app/x .cargo/cred*`;
    process.env["PATH"] += `:${home("tools")}`;
    const own = createSandboxPlace({ userHome: place.home });
    process.env["PATH"] = process.env["PATH"]?.replace(`:${home("tools")}`, "") ?? "";
    const { output } = await own.read(script, { visible: [workspace, home("skills")] });
    await own.remove();
    expect(output).not.toContain("SECRET");
    expect(output.match(/^shown$/gm)).toHaveLength(4);
    expect(output.split("\n")).toEqual(expect.arrayContaining([".cargo", ".nvm", "skills", "src", "tools", "project"]));
    expect(output).not.toMatch(/^(notes|\.ssh)$/m);
  });

  it("sees neither Retinue's state nor system passwords", async () => {
    put(join(place.top, "retinue/history"));
    const own = createSandboxPlace({ state: join(place.top, "retinue") });
    const { output } = await own.read(`cat ${place.top}/retinue/history ${place.top}/state/* /etc/shadow /etc/sudoers`);
    await own.remove();
    expect(output).not.toMatch(/SECRET|root:/);
  });

  it("sees no top-level directories that do not belong to the system", needs("root", isRoot), async () => {
    const top = mkdtempSync("/sandbox-test-");
    try {
      put(join(top, "secret"));
      put(join(top, "python/bin/python"), "shown\n");
      put(join(top, "python/lib/library"), "shown\n");
      process.env["PATH"] += `:${top}/python/bin`;
      const own = createSandboxPlace();
      process.env["PATH"] = process.env["PATH"]?.replace(`:${top}/python/bin`, "") ?? "";
      const { output } = await own.read(`ls ${top}; cat ${top}/secret ${top}/python/*/*`);
      await own.remove();
      expect(output).not.toContain("SECRET");
      expect(output).toMatch(/^python$/m);
      expect(output.match(/^shown$/gm)).toHaveLength(2);
    } finally {
      rmSync(top, { recursive: true });
    }
  });

  it("sees a working tree whose git directory is elsewhere", async () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", place.home, "-c", "user.name=a", "-c", "user.email=a", ...args]);
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "one");
    const copy = join(place.home, "copies/one");
    git("worktree", "add", "-q", copy);
    const own = createSandboxPlace({ userHome: place.home }, copy);
    expect(await own.read("git log --format=%s && git status --porcelain")).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^one\n/),
    });
    await own.remove();
  });

  it("does not see denied files, under any of their names", async () => {
    put(join(place.root, ".env"));
    put(join(place.root, "keys/a"));
    put(join(place.root, "real"));
    linkSync(join(place.root, ".env"), join(place.root, "innocent"));
    linkSync(join(place.root, "keys/a"), join(place.root, "sub"));
    symlinkSync("real", join(place.root, "x.env"));
    put(join(place.root, "open"), "open\n");
    const hides = (path: string): boolean => /\.env$|\/keys$/.test(path);
    const hidden = (await place.workspace.findHidden?.(hides)) ?? [];
    expect(hidden.map((path) => path.slice(place.root.length + 1)).sort()).toEqual(
      [".env", "innocent", "keys", "real", "sub"].sort(),
    );
    const { output } = await place.read("cat .env keys/* real innocent sub x.env; grep -r SECRET .; cat open", {
      hidden,
    });
    expect(output).not.toContain("SECRET");
    expect(output).toContain("open\n");
  });

  it("does not see a git directory that is denied", async () => {
    execFileSync("git", ["init", "-q", place.root]);
    expect((await place.read("ls -A .git", { hidden: [join(place.root, ".git")] })).output).toBe("");
  });

  it("can't see, signal or trace processes outside, and has no capabilities", async () => {
    const other = spawn("sleep", ["60"], { env: { ...process.env, OTHERS: "SECRET" } });
    const { output } = await place.read(
      `kill -9 ${other.pid} -1; cat /proc/${other.pid}/environ /proc/*/environ | tr '\\0' '\\n' | grep OTHERS; grep CapEff /proc/self/status; hostname x; ls /proc | grep -c '^[0-9]'`,
    );
    expect(other.exitCode ?? other.signalCode).toBeNull();
    other.kill("SIGKILL");
    expect(output).not.toContain("SECRET");
    expect(output).toMatch(/CapEff:\s+0{16}/);
    expect(Number(/^\d+$/m.exec(output)?.[0])).toBeLessThan(10);
  });

  it.each(["read", "run"] as const)("can't change kernel settings (%s)", async (profile) => {
    const setting = "/proc/sys/vm/overcommit_memory";
    const before = readFileSync(setting, "utf8");
    const { output } = await place[profile](`echo ${before.trim()} > ${setting} && echo WRITTEN; cat ${setting}`);
    expect(output).not.toContain("WRITTEN");
    expect(output).toContain(before);
  });
});

describe("findHidden", () => {
  it("gives up if a limit is exceeded, and examines no file twice", async () => {
    for (const name of ["a/1", "a/2", "b/3"]) put(join(place.root, name));
    const bounds = { entries: 5, milliseconds: 60_000, found: 2 };
    const seen: string[] = [];
    const hides = (path: string): boolean => seen.push(path) < 0;
    const { root } = place;
    expect(await findHidden([root, root, join(root, "a")], hides, bounds)).toEqual([]);
    expect(seen.filter((path) => path.endsWith("/1"))).toHaveLength(1);
    expect(await findHidden([root], () => false, { ...bounds, entries: 3 })).toBeUndefined();
    expect(await findHidden([root], (path) => /\d$/.test(path), { ...bounds, found: 1 })).toBeUndefined();
    expect(await findHidden([root], () => false, { ...bounds, milliseconds: -1 })).toBeUndefined();
  });

  it("does not hide the workspace because of a symlink to it", async () => {
    symlinkSync("..", join(place.root, ".env"));
    expect(await findHidden([place.root], (path) => path.endsWith(".env"))).toEqual([]);
    expect(existsSync(place.root)).toBe(true);
  });
});

/** Starts a command in the workspace profile and waits for its first output. */
async function start(command: string): Promise<RunningProcess> {
  await place.sandbox.ready();
  return new Promise((resolve) => {
    const running = place.workspace.spawn({
      command: "bash",
      args: ["-c", command],
      tag: `read-only-test-${process.pid}`,
      confined: true,
      onOutput: () => resolve(running),
    });
  });
}
