import { execFileSync } from "node:child_process";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createHostileRepository } from "./hostile-repository.ts";

/** Everything that a command line could change or reveal: a project, a home directory, and files outside both. */
export interface Stage {
  readonly top: string;
  readonly root: string;
  readonly home: string;
  /** A file that must never appear. */
  readonly canary: string;
  /** Replaces the placeholders in a line with paths in this stage. */
  place(line: string): string;
  /** Returns how the stage differs from its initial state. */
  differences(): readonly string[];
  /** Restores the stage as it was created. */
  reset(): void;
  remove(): void;
}

/** Text of every file whose contents must not be shown. */
export const secret = "Kv7qZx2mWtLp";

/** Creates a stage outside /tmp, because commands in a sandbox have their own /tmp. */
export function createStage(): Stage {
  const base = realpathSync(mkdtempSync("/var/tmp/retinue-shell-"));
  const top = join(base, "top");
  const copy = join(base, "copy");
  const [root, home, canary] = [join(top, "project"), join(top, "home"), join(top, "canary")];
  furnish({ root, home, canary });
  execFileSync("cp", ["-a", top, copy]);
  const secrets = ["outside/secret.txt", "outside/deep/more.txt", "home/.ssh/id", "project/.env", "project/sub/.env"];
  // `git diff` and `git describe --dirty` store file times in the index, whose entries stay the same.
  const entries = (): string => git(root, ["ls-files", "--stage", "-t", "-v"]);
  const tracked = entries();
  const settle = (): void => {
    // A file system with `relatime` updates the access time if it is older than the last change.
    for (const path of secrets) utimesSync(join(top, path), new Date(0), lstatSync(join(top, path)).mtime);
  };
  settle();
  let before = snapshot(top);
  return {
    ...{ top, root, home, canary },
    place: (line) => line.replaceAll("{CANARY}", canary).replaceAll("{TOP}", top),
    differences: () => {
      const now = snapshot(top);
      const changed = [...new Set([...before.keys(), ...now.keys()])].filter(
        (path) => before.get(path) !== now.get(path),
      );
      const isRefreshed =
        changed.length > 0 && changed.every((path) => /\/\.git(\/index)?$/.test(path)) && entries() === tracked;
      const read = secrets.filter((path) => now.has(join(top, path)) && lstatSync(join(top, path)).atimeMs !== 0);
      return [
        ...(isRefreshed ? [] : changed).map((path) => `changed ${path.slice(top.length + 1)}`),
        ...read.map((path) => `read ${path}`),
      ];
    },
    reset: () => {
      rmSync(top, { recursive: true, force: true });
      execFileSync("cp", ["-a", copy, top]);
      settle();
      before = snapshot(top);
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

function furnish({ root, home, canary }: Pick<Stage, "root" | "home" | "canary">): void {
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  };
  const evil = join(root, "evil.sh");
  const hidden = `${secret} 1\n`.repeat(3);
  put(join(root, "f.txt"), "a 1\nb 2\nc 3\n");
  put(join(root, "g.txt"), "b 2\nd 4\n");
  put(join(root, "sub/h.txt"), "a\n");
  put(join(root, "README.md"), "# a\n");
  put(join(root, "package.json"), '{"name": "x"}\n');
  put(join(root, ".npmrc"), `script-shell=${evil}\ngit=${evil}\neditor=${evil}\nnode-options=--require=${evil}\n`);
  // Names of files, a program and an awk script that the lines can pass to commands.
  put(join(root, "list.txt"), `${canary}\nlink\n.env\n`);
  put(join(root, "zero.txt"), "link\0.env\0");
  put(join(root, "at.txt"), "link\n");
  put(join(root, "d1/h.txt"), "b\n");
  symlinkSync("../../outside/secret.txt", join(root, "d1/f.txt"));
  put(join(root, "sums.txt"), "d41d8cd98f00b204e9800998ecf8427e  link\n");
  put(join(root, "0/ls"), `#!/bin/sh\necho x >> ${canary}\n`, 0o755);
  put(evil, `#!/bin/sh\necho x >> ${canary}\nexit 0\n`, 0o755);
  put(join(root, "evil.awk"), `BEGIN { print "x" > "${canary}" }\n`);
  put(join(root, "evil.sed"), `w ${canary}\n`);
  put(join(root, "opts/-oglob.txt"), "a\n");
  put(join(root, "opts/--output=glob.txt"), "a\n");
  put(join(root, "opts/-exec"), "a\n");
  put(join(root, "odd/a ..b"), "a\n");
  // The only name with one character; as an argument of `find -exec`, it ends the command.
  put(join(root, ";"), "a\n");
  put(join(root, ".env"), hidden);
  put(join(root, "sub/.env"), hidden);
  linkSync(join(root, ".env"), join(root, "hard"));
  put(join(root, "../outside/secret.txt"), hidden);
  put(join(root, "../outside/deep/more.txt"), hidden);
  put(join(home, ".ssh/id"), hidden, 0o600);
  put(join(home, ".npm/x"), "");
  // The names of files outside the workspace must not be shown either.
  put(join(home, `.${secret}`), "");
  put(join(home, ".gitconfig"), `[user]\n\tname = a\n[credential]\n\tusername = ${secret}\n`);
  symlinkSync("../outside/secret.txt", join(root, "link"));
  symlinkSync("../outside", join(root, "dirlink"));
  symlinkSync("../../outside/secret.txt", join(root, "sub/up"));
  symlinkSync(".env", join(root, "envlink"));
  symlinkSync("f.txt", join(root, "inside"));
  createHostileRepository(root, evil);
}

/** Runs git without running programs from the repository. */
function git(root: string, args: readonly string[]): string {
  const settings = ["core.fsmonitor=", "core.hooksPath=/dev/null"].flatMap((setting) => ["-c", setting]);
  return execFileSync("git", [...settings, ...args], {
    cwd: root,
    env: { ...process.env, GIT_OPTIONAL_LOCKS: "0" },
  }).toString();
}

/** Describes all files below a path, except their access times. Includes the change time, which can't be forged. */
function snapshot(path: string, found = new Map<string, string>()): ReadonlyMap<string, string> {
  const stat = lstatSync(path);
  found.set(path, [stat.mode, stat.size, stat.ino, stat.ctimeMs].join(" "));
  if (stat.isDirectory()) for (const name of readdirSync(path)) snapshot(join(path, name), found);
  return found;
}
