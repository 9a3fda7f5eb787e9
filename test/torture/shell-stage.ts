import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Everything that a command line could change: a project, a home directory, and a file that must never appear. */
export interface Stage {
  readonly root: string;
  readonly home: string;
  readonly canary: string;
  /** Runs the lines in sequence. Returns true if anything has changed since the stage was created. */
  changes(lines: readonly string[]): Promise<boolean>;
  remove(): void;
}

export function createStage(): Stage {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "retinue-shell-")));
  const root = join(top, "project");
  const home = join(top, "home");
  const canary = join(top, "canary");
  // Outside the stage, so that writing this file does not count as a change.
  const script = `${top}.lines`;
  furnish({ root, home, canary });
  if (isRootWithoutSandbox()) giveAway(top);
  const before = snapshot(top);
  return {
    root,
    home,
    canary,
    changes: async (lines) => {
      if (lines.length === 0) return false;
      writeFileSync(script, lines.map((line) => `${line}\0`).join(""));
      const count = await runLines(script, { top, root, home });
      if (count !== lines.length) throw new Error(`${count} of ${lines.length} lines were run`);
      return snapshot(top) !== before;
    },
    remove: () => {
      rmSync(top, { recursive: true, force: true });
      rmSync(script, { force: true });
    },
  };
}

function furnish({ root, home, canary }: Pick<Stage, "root" | "home" | "canary">): void {
  for (const directory of [join(root, "sub"), join(home, ".npm")]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(root, "f.txt"), "a 1\nb 2\nc 3\n");
  writeFileSync(join(root, "g.txt"), "b 2\nd 4\n");
  writeFileSync(join(root, "sub/h.txt"), "a\n");
  writeFileSync(join(root, "list.txt"), `${canary}\n`);
  writeFileSync(join(root, "evil.sh"), `#!/bin/sh\ntouch ${canary}\n`, { mode: 0o755 });
  writeFileSync(join(root, "package.json"), '{"name": "x"}\n');
  const git = (...args: string[]) =>
    spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root, stdio: "ignore" });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-q", "-m", "first");
  writeFileSync(join(root, "g.txt"), "b 2\nd 5\n");
}

interface Place {
  readonly top: string;
  readonly root: string;
  readonly home: string;
}

/** Runs the lines and returns how many of them were run. */
function runLines(script: string, place: Place): Promise<number> {
  const driver = `while IFS= read -r -d '' line <&3; do printf .; timeout -s KILL 3 bash --norc --noprofile -c -- "$line" < /dev/null > /dev/null 2>&1 3<&-; done 3< "$1"`;
  const inside = ["bash", "--norc", "--noprofile", "-c", driver, "driver", script];
  const [program = "", ...args] = hasBubblewrap() ? [...bubblewrap(place), ...inside] : inside;
  const user = isRootWithoutSandbox() ? { uid: nobody, gid: nobody } : {};
  const child = spawn(program, args, {
    cwd: place.root,
    env: environment(place),
    stdio: ["ignore", "pipe", "ignore"],
    ...user,
  });
  return new Promise((resolve, reject) => {
    let count = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      count += chunk.length;
    });
    child.on("error", reject);
    child.on("close", () => resolve(count));
  });
}

/** Returns the environment that the Bash tool gives commands: no pagers, and no locks for read-only git commands. */
function environment({ home }: Place): Record<string, string> {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    LANG: "C.UTF-8",
    GIT_PAGER: "cat",
    PAGER: "cat",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: "false",
    // Otherwise, `npm ls` would write a log to the home directory.
    npm_config_logs_max: "0",
    npm_config_update_notifier: "false",
  };
}

const nobody = 65_534;

function isRootWithoutSandbox(): boolean {
  return process.getuid?.() === 0 && !hasBubblewrap();
}

function giveAway(path: string): void {
  chownSync(path, nobody, nobody);
  if (!lstatSync(path).isDirectory()) return;
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) giveAway(join(path, name));
}

/** Describes all files below a path, except their access times. */
function snapshot(path: string): string {
  const stat = lstatSync(path);
  const own = `${path} ${stat.mode} ${stat.mtimeMs}`;
  if (stat.isSymbolicLink()) return `${own} ${readlinkSync(path)}`;
  if (!stat.isDirectory()) return `${own} ${stat.size} ${stat.isFile() ? readFileSync(path, "latin1") : ""}`;
  const names = readdirSync(path).sort();
  return [own, ...names.map((name) => snapshot(join(path, name)))].join("\n");
}

function hasBubblewrap(): boolean {
  return existsSync("/usr/bin/bwrap");
}

/** Returns a command that makes the whole system read-only, except for the stage. */
function bubblewrap({ top, root }: Place): readonly string[] {
  return [
    "/usr/bin/bwrap",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--bind",
    top,
    top,
    "--unshare-all",
    "--die-with-parent",
    "--chdir",
    root,
  ];
}
