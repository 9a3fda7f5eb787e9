import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { openSession, type Session, type SessionOptions } from "../../src/app/index.ts";
import type { Model } from "../../src/ports/index.ts";
import {
  type EventOf,
  type Head,
  type Message,
  type RunResult,
  type RunUpdate,
  type ToolResult,
  textOf,
} from "../../src/protocol/index.ts";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.ts";

export interface Performed {
  readonly result: RunResult;
  /** What stands before the messages. */
  readonly head: Head;
  readonly started: EventOf<"run.started">;
  /** Of every tool call, in order. */
  readonly outcomes: readonly ToolResult["outcome"][];
  /** The text of the results, one per call. */
  readonly results: readonly string[];
  readonly requests: readonly (readonly Message[])[];
  readonly notices: readonly string[];
  readonly toolReport: Session["toolReport"];
  readonly sessionId: string;
  readonly cwd: string;
  readonly home: string;
}

export interface Task extends SessionOptions {
  readonly say: string;
  /** By path; relative ones stand in the workspace. */
  readonly files?: Readonly<Record<string, string>>;
  readonly steps: readonly ScriptedStep[];
  /** The place of an earlier task. */
  readonly at?: Pick<Performed, "cwd" | "home">;
}

/** A built-in does what a scripted model tells it to, with real tools, in a place of its own. */
export async function performTask({ say, files = {}, steps, at, ...options }: Task): Promise<Performed> {
  const { cwd, home } = at ?? createPlace();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const scripted = createScriptedModel(steps);
  const heads: Head[] = [];
  const model: Model = {
    describe: scripted.describe,
    call: (request, emit) => {
      heads.push(request.prompt.head);
      return scripted.call(request, emit);
    },
  };
  const environment = { PATH: process.env["PATH"], HOME: dirname(home) };
  const session = await openSession({ entryPoint: "cli", environment, ...options, cwd, home, model });
  const run = session.prompt(say);
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  scripted.assertDone();
  // Calls that run side by side end in any order.
  const ended = updates
    .filter((update) => update.type === "tool.ended")
    .sort((left, right) => left.callId.localeCompare(right.callId, "en", { numeric: true }));
  return {
    result,
    head: heads[0] as Head,
    started: updates.find((update) => update.type === "run.started") as EventOf<"run.started">,
    outcomes: ended.map((line) => line.result.outcome),
    results: ended.map((line) => textOf(line.result.content)),
    requests: scripted.requests,
    notices: session.notices,
    toolReport: session.toolReport,
    sessionId: session.id,
    cwd,
    home,
  };
}

function createPlace(): { readonly cwd: string; readonly home: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-built-in-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(root, "work");
  mkdirSync(cwd);
  return { cwd, home: join(root, "home") };
}

export function toolNames({ head }: Performed): readonly string[] {
  return head.tools.map(({ name }) => name);
}

/** The text of the newest user turn that a request ended with. */
export function lastWords(messages: readonly Message[] | undefined): string {
  return textOf(messages?.at(-1)?.content ?? []);
}
