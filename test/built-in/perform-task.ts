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
import { sandboxSetting } from "../../src/testing/sandbox-setting.test-support.ts";

export interface Performed {
  readonly result: RunResult;
  readonly head: Head;
  readonly started: EventOf<"run.started">;
  /** Outcomes of all tool calls, in order. */
  readonly outcomes: readonly ToolResult["outcome"][];
  /** Results as text, one per call. */
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
  /** Contents of files to create, by path relative to the workspace. */
  readonly files?: Readonly<Record<string, string>>;
  readonly steps: readonly ScriptedStep[];
  /** Directories of an earlier task to use again. */
  readonly at?: Pick<Performed, "cwd" | "home">;
}

/** Runs a built-in agent with a scripted model and real tools, in temporary directories unless `at` is given. */
export async function performTask({ say, files = {}, steps, at, settings, ...options }: Task): Promise<Performed> {
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
  const session = await openSession({
    ...{ entryPoint: "cli", environment, settings: { sandbox: sandboxSetting, ...settings } },
    ...options,
    cwd,
    home,
    model,
  });
  const run = session.prompt(say);
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  const result = await run.result;
  await session.close();
  scripted.assertDone();
  // Calls that run in parallel can end in any order.
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

/** Returns the text of a request's last message. */
export function lastWords(messages: readonly Message[] | undefined): string {
  return textOf(messages?.at(-1)?.content ?? []);
}
