import { describeError } from "../../lib/index.ts";
import type { Clock } from "../../ports/index.ts";
import type { DurableEvent, EventOf, Line, RunResult } from "../../protocol/index.ts";
import type { Run } from "../../runs/index.ts";
import type { AgentCallback } from "../agents/agent-options.ts";

export interface CallbackOptions {
  readonly agentType: string;
  readonly clock: Clock;
  record(events: readonly DurableEvent[]): Promise<readonly Line[]>;
  /** Time limit for the callback; defaults to one minute. */
  readonly limitMs?: number;
}

/**
 * Calls a function after a run. The returned run's result waits for the function. If the function fails, the run's
 * events end with a notice, and the result does not change.
 */
export function withCallback(run: Run, callback: AgentCallback, options: CallbackOptions): Run {
  const after = run.result.then(async (result) => ({ result, lines: await recordCallback(callback, result, options) }));
  return {
    runId: run.runId,
    stop: (cause) => run.stop(cause),
    result: after.then(({ result }) => result),
    async *[Symbol.asyncIterator]() {
      yield* run;
      yield* (await after).lines;
    },
  };
}

/** Runs a callback. Returns a notice if the callback fails. Never rejects. */
export async function runCallback(
  callback: AgentCallback,
  result: RunResult,
  { agentType, limitMs = 60_000 }: Pick<CallbackOptions, "agentType" | "limitMs">,
): Promise<readonly EventOf<"notice.raised">[]> {
  const problem = await problemOf(async () => callback(result), limitMs);
  if (problem === undefined) return [];
  const message = `The callback of agent "${agentType}" ${problem} The run's result is not affected.`;
  return [{ type: "notice.raised", code: "callback_failed", message }];
}

async function recordCallback(
  callback: AgentCallback,
  result: RunResult,
  options: CallbackOptions,
): Promise<readonly Line[]> {
  const notices = await runCallback(callback, result, options);
  if (notices.length === 0) return [];
  const unrecorded = { v: 1, id: "unrecorded", parentId: null, at: options.clock.now() } as const;
  // If the session is closed or the disk is full, the notice is shown but not recorded.
  return options.record(notices).catch(() => notices.map((notice) => ({ ...unrecorded, ...notice })));
}

async function problemOf(work: () => Promise<void>, limitMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((settle) => {
    const message = `did not finish within ${limitMs / 1000} seconds, so Retinue stopped waiting for it.`;
    timer = setTimeout(() => settle(message), limitMs);
  });
  const done = work().then(
    () => undefined,
    (error: unknown) => `failed: ${describeError(error).replace(/\.?$/, ".")}`,
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
