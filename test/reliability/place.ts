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
import { basename, join } from "node:path";
import type { Line, SandboxMode } from "../../src/protocol/index.ts";
import { sandboxSetting } from "../../src/testing/sandbox-setting.test-support.ts";

/** A workspace and a state directory in one temporary directory. */
export interface Place {
  /** Value of the environment variable `MARK` in all processes that are started here. */
  readonly mark: string;
  readonly root: string;
  readonly home: string;
  readonly cwd: string;
  remove(): void;
}

/** An environment variable that Retinue passes on to commands. Tests find the commands of a place by its value. */
export const MARK = "XDG_MENU_PREFIX";

export function createPlace({ sandbox = sandboxSetting }: { readonly sandbox?: SandboxMode } = {}): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-reliability-")));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const home = join(root, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "settings.json"), JSON.stringify({ sandbox }));
  return {
    mark: basename(root),
    root,
    home,
    cwd,
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Returns the transcript of the place's only session; undefined before its first line is written. */
export function transcriptPath({ home }: Pick<Place, "home">): string | undefined {
  const projects = join(home, "projects");
  if (!existsSync(projects)) return undefined;
  for (const project of readdirSync(projects)) {
    const name = readdirSync(join(projects, project)).find((each) => each.endsWith(".jsonl"));
    if (name !== undefined) return join(projects, project, name);
  }
  return undefined;
}

export function sessionIdOf(transcript: string): string {
  return basename(transcript, ".jsonl");
}

/**
 * Reads a transcript more strictly than the product does: after a clean end, the file must consist of complete lines.
 */
export function readTranscript(path: string): Line[] {
  const text = readFileSync(path, "utf8");
  if (!text.endsWith("\n")) throw new Error(`${path} does not end in a newline`);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/** Returns whether the newest run is done, even if the process was killed afterwards. */
export function isDone(place: Pick<Place, "home">): boolean {
  const path = transcriptPath(place);
  if (path === undefined) return false;
  try {
    const last = readTranscript(path).findLast(({ type }) => type !== "run.cleaned");
    return last?.type === "run.ended" && last.reason === "done";
  } catch {
    return false;
  }
}

/** Returns the pids of running processes that were started in the place, directly or indirectly. */
export function livingIn({ mark }: Pick<Place, "mark">): number[] {
  const wanted = `\0${MARK}=${mark}\0`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && environmentOf(pid).includes(wanted));
}

/** Returns an empty text for zombies and for processes that have ended. */
function environmentOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}\0`;
  } catch {
    return "";
  }
}
