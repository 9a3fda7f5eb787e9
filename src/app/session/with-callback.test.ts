import { describe, expect, it } from "vitest";
import type { DurableEvent, Line, RunResult, RunUpdate } from "../../protocol/index.ts";
import type { Run } from "../../runs/index.ts";
import { type CallbackOptions, withCallback } from "./with-callback.ts";

const result = { outcome: "succeeded", text: "Done." } as RunResult;
const clock = { now: () => 7, monotonic: () => 0 };
const before: RunUpdate = { type: "text.delta", turn: 1, text: "Done." };

function someRun(stopped: string[] = []): Run {
  return {
    runId: "r1",
    result: Promise.resolve(result),
    stop: (cause) => stopped.push(cause),
    async *[Symbol.asyncIterator]() {
      yield before;
    },
  };
}

function journal(): CallbackOptions & { readonly kept: DurableEvent[] } {
  const kept: DurableEvent[] = [];
  const record = async (events: readonly DurableEvent[]): Promise<readonly Line[]> => {
    kept.push(...events);
    return events.map((event) => ({ v: 1, id: "9", parentId: "8", at: 7, ...event }));
  };
  return { agentType: "poet", clock, record, kept };
}

async function all(run: Run): Promise<readonly RunUpdate[]> {
  const updates: RunUpdate[] = [];
  for await (const update of run) updates.push(update);
  return updates;
}

describe("a run with a callback", () => {
  it("calls it at the end, and waits for it before returning the result", async () => {
    const seen: string[] = [];
    const options = journal();
    const run = withCallback(
      someRun(),
      async ({ text }) => {
        await Promise.resolve();
        seen.push(text);
      },
      options,
    );
    expect(await run.result).toBe(result);
    expect(seen).toEqual(["Done."]);
    expect(await all(run)).toEqual([before]);
    expect(options.kept).toEqual([]);
  });

  it.each([
    ["at once", () => Promise.reject(new Error("Out of ink"))],
    [
      "by throwing",
      () => {
        throw new Error("Out of ink");
      },
    ],
  ])("keeps its result if the callback fails %s, and reports the failure", async (_, callback) => {
    const options = journal();
    const run = withCallback(someRun(), callback, options);
    const message = 'The callback of agent "poet" failed: Out of ink. The run\'s result is not affected.';
    const notice = { type: "notice.raised", code: "callback_failed", message };
    expect(await all(run)).toEqual([before, { v: 1, id: "9", parentId: "8", at: 7, ...notice }]);
    expect(await run.result).toBe(result);
    expect(options.kept).toEqual([notice]);
  });

  it("stops waiting for a callback that takes too long", async () => {
    const options = journal();
    const run = withCallback(someRun(), () => new Promise(() => undefined), { ...options, limitMs: 1 });
    expect(await run.result).toBe(result);
    expect(options.kept).toEqual([
      expect.objectContaining({ message: expect.stringContaining("did not finish within") }),
    ]);
  });

  it("reports a failure even if it can't be recorded", async () => {
    const options = { ...journal(), record: () => Promise.reject(new Error("closed")) };
    const updates = await all(withCallback(someRun(), () => Promise.reject(new Error("Out of ink")), options));
    expect(updates).toEqual([before, expect.objectContaining({ type: "notice.raised", id: "unrecorded" })]);
  });

  it("can be stopped like any other run", () => {
    const stopped: string[] = [];
    withCallback(someRun(stopped), () => undefined, journal()).stop("interrupted");
    expect(stopped).toEqual(["interrupted"]);
  });
});
