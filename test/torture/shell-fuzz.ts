import { spawnSync } from "node:child_process";
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
import { accesses, decide, pathsOf } from "../../src/permissions/index.ts";
import type { Policy } from "../../src/protocol/index.ts";
import { createLocalWorkspace } from "../../src/workspace/index.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import type { Campaign } from "./campaign.ts";
import { shellString } from "./shell-strings.ts";

const batchSize = 250;

/**
 * Whatever needs no question changes no file: generated command lines are judged, and those that are allowed without any
 * rule are run. `count` is the number of lines.
 */
export const shellFuzz: Campaign = async ({ seed, count, until }) => {
  const work = { lines: 0, allowed: 0 };
  const failures: string[] = [];
  for (let batch = 0; batch * batchSize < count && performance.now() < until; batch += 1) {
    const stage = createStage();
    try {
      const random = seededRandom(seed * 100_003 + batch);
      const lines = Array.from({ length: Math.min(batchSize, count - batch * batchSize) }, () =>
        shellString(random, stage.canary),
      );
      const allowed: string[] = [];
      for (const line of lines) if ((await judge(line, stage)) === "allow") allowed.push(line);
      work.lines += lines.length;
      work.allowed += allowed.length;
      if (changes(stage, allowed)) failures.push(...culprits(allowed, stage).map((line) => `batch ${batch}: ${line}`));
    } finally {
      rmSync(stage.top, { recursive: true, force: true });
    }
  }
  return {
    passed: work.lines - failures.length,
    run: work.lines,
    firstFailure: failures.length === 0 ? undefined : failures.slice(0, 5).join(" ¦ "),
    work,
  };
};

interface Stage {
  readonly top: string;
  readonly root: string;
  readonly home: string;
  readonly canary: string;
}

async function judge(command: string, { root, home }: Stage): Promise<string> {
  const policy: Policy = { mode: "default", pool: ["Bash"], rules: [], workspaceRoots: [root], readableRoots: [] };
  const list = accesses("Bash", { command });
  const workspace = createLocalWorkspace({ root, environment: { HOME: home }, home });
  const resolved = await workspace.resolve(pathsOf(list));
  return decide({ toolName: "Bash", accesses: list, resolved, policy, homes: [home] }).effect;
}

/** Runs the lines one after the other; true when anything is not as it was. */
function changes(stage: Stage, lines: readonly string[]): boolean {
  const before = snapshot(stage.top);
  if (lines.length === 0) return false;
  const script = join(stage.top, "lines");
  writeFileSync(script, lines.join("\0"));
  const driver = `while IFS= read -r -d '' line <&3; do printf .; timeout -s KILL 3 bash --norc --noprofile -c -- "$line" < /dev/null > /dev/null 2>&1 3<&-; done 3< <(cat "$1"; printf '\\0')`;
  const inside = ["bash", "--norc", "--noprofile", "-c", driver, "driver", script];
  const [program = "", ...args] = hasBubblewrap() ? [...bubblewrap(stage), ...inside] : inside;
  const user = process.getuid?.() === 0 && !hasBubblewrap() ? { uid: nobody, gid: nobody } : {};
  const { stdout } = spawnSync(program, args, { cwd: stage.root, env: environment(stage), encoding: "utf8", ...user });
  rmSync(script);
  if (stdout.length !== lines.length) throw new Error(`${stdout.length} of ${lines.length} lines were run`);
  return snapshot(stage.top) !== before;
}

function culprits(lines: readonly string[], { canary }: Stage): readonly string[] {
  const found = lines.filter((line) => {
    const stage = createStage();
    const changed = changes(stage, [line.replaceAll(canary, stage.canary)]);
    rmSync(stage.top, { recursive: true, force: true });
    return changed;
  });
  return found.length > 0 ? found : ["several lines together changed something"];
}

const nobody = 65_534;

/** As the Bash tool runs commands: nothing pages, and a look at git takes no locks. */
function environment({ home }: Stage): Record<string, string> {
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
    // `npm ls` would keep a log of itself in the home directory.
    npm_config_logs_max: "0",
    npm_config_update_notifier: "false",
  };
}

function createStage(): Stage {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "retinue-shell-")));
  const root = join(top, "project");
  const home = join(top, "home");
  for (const directory of [join(root, "sub"), join(home, ".npm")]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(root, "f.txt"), "a 1\nb 2\nc 3\n");
  writeFileSync(join(root, "g.txt"), "b 2\nd 4\n");
  writeFileSync(join(root, "sub/h.txt"), "a\n");
  writeFileSync(join(root, "list.txt"), `${join(top, "canary")}\n`);
  writeFileSync(join(root, "evil.sh"), `#!/bin/sh\ntouch ${join(top, "canary")}\n`, { mode: 0o755 });
  writeFileSync(join(root, "package.json"), '{"name": "x"}\n');
  const git = (...args: string[]) =>
    spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root, stdio: "ignore" });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-q", "-m", "first");
  writeFileSync(join(root, "g.txt"), "b 2\nd 5\n");
  if (process.getuid?.() === 0 && !hasBubblewrap()) giveAway(top);
  return { top, root, home, canary: join(top, "canary") };
}

function giveAway(path: string): void {
  chownSync(path, nobody, nobody);
  if (!lstatSync(path).isDirectory()) return;
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) giveAway(join(path, name));
}

/** Everything but access times. */
function snapshot(path: string): string {
  const { mode, size, mtimeMs, isDirectory, isSymbolicLink } = describe(path);
  const own = `${path} ${mode} ${isDirectory ? "" : `${size} `}${mtimeMs}`;
  if (isSymbolicLink) return `${own} ${readlinkSync(path)}`;
  if (!isDirectory) return `${own} ${readFileSync(path, "latin1")}`;
  // The directory that holds the list of lines changes with it.
  const names = readdirSync(path).sort();
  return [own.replace(/ [\d.]+$/, ""), ...names.map((name) => snapshot(join(path, name)))].join("\n");
}

function describe(path: string) {
  const stat = lstatSync(path);
  const { mode, size, mtimeMs } = stat;
  return { mode, size, mtimeMs, isDirectory: stat.isDirectory(), isSymbolicLink: stat.isSymbolicLink() };
}

function hasBubblewrap(): boolean {
  return existsSync("/usr/bin/bwrap");
}

/** The system to look at, the stage to write to, and nothing else. */
function bubblewrap({ top, root }: Stage): readonly string[] {
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
