import {
  cpSync,
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
import { expect, onTestFinished } from "vitest";
import { openSession, type Session, type SessionOptions } from "../../src/app/index.ts";
import { createDeferred } from "../../src/lib/index.ts";
import {
  isRuntimeText,
  type Line,
  type Message,
  type RunResult,
  type RunUpdate,
  type SessionUpdate,
  textOf,
} from "../../src/protocol/index.ts";
import { type Cast, createCast, type ScriptedStep } from "../../src/testing/index.ts";

import { sandboxSetting } from "../../src/testing/sandbox-setting.test-support.ts";

export interface Place {
  readonly home: string;
  readonly cwd: string;
}

export interface Walk extends Place {
  readonly result: RunResult;
  readonly updates: readonly RunUpdate[];
  readonly model: Cast;
  readonly sessionId: string;
  /** The main agent's tools. */
  readonly tools: readonly string[];
}

/** Creates a workspace and a state directory. */
export function newPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-delegation-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = mkdtempSync(join(root, "work-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\nbeta\n");
  const home = join(root, "home");
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, "settings.json"), JSON.stringify({ sandbox: sandboxSetting }));
  return { home, cwd };
}

export type Parts = Readonly<Record<string, readonly ScriptedStep[]>>;

export interface Options extends SessionOptions {
  readonly at?: Place;
  /** Size of the model's context window in tokens. */
  readonly window?: number;
}

export async function open(parts: Parts, options: Options = {}): Promise<{ session: Session; model: Cast } & Place> {
  const { at = newPlace(), window = 200_000, settings, ...rest } = options;
  const model = createCast(parts, { window });
  const environment = { PATH: process.env["PATH"], HOME: at.home, ...rest.environment };
  const session = await openSession({
    ...rest,
    settings: { sandbox: sandboxSetting, ...settings },
    ...at,
    model,
    environment,
  });
  return { session, model, ...at };
}

export async function walk(parts: Parts, options: Options = {}): Promise<Walk> {
  const { session, model, home, cwd } = await open(parts, options);
  const run = session.prompt("MAIN: do it.");
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  return { result, updates, model, home, cwd, sessionId: session.id, tools: session.tools };
}

/** Returns a promise and the function `keep`, which resolves the promise. */
export function promised() {
  const { promise, resolve } = createDeferred<void>();
  return { promise, keep: () => resolve() };
}

export const task = (prompt: string, more: Record<string, unknown> = {}) => ({
  name: "Task",
  input: { description: "a piece of work", prompt, subagent_type: "general-purpose", ...more },
});
export const read = { name: "Read", input: { file_path: "notes.txt" } };
export const lastWords = (messages: readonly Message[] | undefined): string => textOf(messages?.at(-1)?.content ?? []);
/** Returns the first prompt of a conversation, without the context that the runtime adds to it. */
export const firstPrompt = ([first]: readonly Message[]): string =>
  textOf((first?.content ?? []).filter((block) => block.type !== "text" || !isRuntimeText(block.text)));
export const resultsIn = (messages: readonly Message[] | undefined): string[] =>
  (messages?.at(-1)?.content ?? []).flatMap((block) => (block.type === "tool_result" ? [textOf(block.content)] : []));

export function transcriptsIn({ home }: Place, sessionId: string): Map<string, Line[]> {
  const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
  const directory = join(project, sessionId, "subagents");
  return new Map(
    readdirSync(directory)
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => [name, linesOf(join(directory, name))]),
  );
}

function linesOf(path: string): Line[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Line);
}

export function mainLines({ home }: Place, sessionId: string): Line[] {
  const project = join(home, "projects", readdirSync(join(home, "projects"))[0] ?? "");
  return linesOf(join(project, `${sessionId}.jsonl`));
}

/** Returns the number of runs. Each must have started, ended and been cleaned up exactly once, in this order. */
export function wholeRuns(lines: readonly Line[]): number {
  const steps = ["run.started", "run.ended", "run.cleaned"] as const;
  const runs = lines.flatMap((line) => (line.type === "run.started" ? [line.runId] : []));
  for (const run of runs) {
    const own = lines.filter((line) => "runId" in line && line.runId === run).map(({ type }) => type);
    expect(own.filter((type) => steps.some((step) => step === type))).toEqual(steps);
  }
  return runs.length;
}

/** Copies the files as they are now, as a kill -9 would leave them, without a lock. */
export function asAfterKill({ home, cwd }: Place, which = 0): Place {
  const left = `${home}-after-${which}`;
  cpSync(home, left, { recursive: true });
  for (const path of readdirSync(left, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith("/lock")) continue;
    // Changes the owner's start time, so that the owner of the lock is considered dead even though its process is still
    // running.
    const owner = JSON.parse(readFileSync(join(left, path), "utf8"));
    writeFileSync(join(left, path), JSON.stringify({ ...owner, startTime: owner.startTime - 1 }));
  }
  return { home: left, cwd };
}

/** Reads the events of a session until it is closed. */
export function watch(session: Session, after = 0) {
  const updates: SessionUpdate[] = [];
  const waiting: (() => void)[] = [];
  const all = (async () => {
    for await (const update of session.events({ after })) {
      updates.push(update);
      for (const wake of waiting.splice(0)) wake();
    }
    return updates;
  })();
  return {
    all,
    updates: updates as readonly SessionUpdate[],
    async until(isWanted: (update: SessionUpdate) => boolean): Promise<void> {
      while (!updates.some(isWanted)) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
