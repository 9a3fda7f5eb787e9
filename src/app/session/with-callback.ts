import { describeError } from "../../lib/index.ts";
import type { Clock } from "../../ports/index.ts";
import type { DurableEvent, EventOf, Line, RunResult } from "../../protocol/index.ts";
import type { Run } from "../../runs/index.ts";
import type { AgentCallback } from "../agents/define-agent.ts";

export interface CallbackPlace {
  readonly agentType: string;
  readonly clock: Clock;
  record(events: readonly DurableEvent[]): Promise<readonly Line[]>;
  /** A result does not wait longer than this; one minute if absent. */
  readonly limitMs?: number;
}

/**
 * The same run, followed by the callback: whoever has its result knows that the callback is done. What goes wrong there
 * is a notice at the end of the run's events, and the result is as it was.
 */
export function withCallback(run: Run, callback: AgentCallback, place: CallbackPlace): Run {
  const after = run.result.then(async (result) => ({ result, lines: await recordCall(callback, result, place) }));
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

/** Resolves with what is to be told about it: nothing where all went well. Never rejects. */
export async function callBack(
  callback: AgentCallback,
  result: RunResult,
  { agentType, limitMs = 60_000 }: Pick<CallbackPlace, "agentType" | "limitMs">,
): Promise<readonly EventOf<"notice.raised">[]> {
  const problem = await problemOf(async () => callback(result), limitMs);
  if (problem === undefined) return [];
  const message = `The callback of agent "${agentType}" ${problem} The run's result is as it was.`;
  return [{ type: "notice.raised", code: "callback_failed", message }];
}

async function recordCall(callback: AgentCallback, result: RunResult, place: CallbackPlace): Promise<readonly Line[]> {
  const notices = await callBack(callback, result, place);
  if (notices.length === 0) return [];
  const unrecorded = { v: 1, id: "unrecorded", parentId: null, at: place.clock.now() } as const;
  // The session may be closed by now, or its disk full: then it is told, but not kept.
  return place.record(notices).catch(() => notices.map((notice) => ({ ...unrecorded, ...notice })));
}

async function problemOf(work: () => Promise<void>, limitMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((settle) => {
    const message = `has not ended within ${limitMs / 1000} seconds, and nobody waits for it any longer.`;
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
