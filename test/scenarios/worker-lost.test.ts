import { expect, it } from "vitest";
import { openSessionOn } from "../../src/app/opening/open-session.ts";
import { createDeferred } from "../../src/lib/index.ts";
import type { ToolExecutor, WorkerPort } from "../../src/ports/index.ts";
import { type Line, type ToolResult, textOf } from "../../src/protocol/index.ts";
import { createCast } from "../../src/testing/index.ts";
import { createLocalWorker, type LocalWorkerOptions } from "../../src/worker/index.ts";
import { newPlace, type Parts, task } from "./delegation-place.ts";

const unknown: ToolResult = {
  outcome: "unknown",
  content: [{ type: "text", text: "The worker is not connected." }],
};
const late: ToolResult = { outcome: "ok", content: [{ type: "text", text: "Finished after all." }] };

/** A worker that is lost while it runs Bash. When the session is resumed, the worker has the result. */
function lostWorker(started: () => void): (options: LocalWorkerOptions) => WorkerPort {
  const change = (executor: ToolExecutor): ToolExecutor => ({
    ...executor,
    execute: (request, emit, signal) => {
      if (request.call.name !== "Bash") return executor.execute(request, emit, signal);
      started();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(unknown)));
    },
    recall: async () => late,
  });
  return (options) => {
    const local = createLocalWorker(options);
    const open: WorkerPort["open"] = async (request) => {
      const session = await local.open(request);
      return { ...session, executor: (root) => change(session.executor(root)) };
    };
    return { ...local, open };
  };
}

const bash = { calls: [{ name: "Bash", input: { command: "sleep 60" } }] };

it.each<[string, Parts, Parts]>([
  ["the main agent", { MAIN: [bash] }, { MAIN: [{ text: "Done." }] }],
  [
    "a subagent",
    { MAIN: [{ calls: [task("PART: do it.")] }], PART: [bash] },
    { MAIN: [{ text: "Done." }], PART: [{ text: "Part done." }] },
  ],
])(
  "a call by %s that a lost worker may still finish stays open until its result is known",
  async (_who, before, after) => {
    const at = newPlace();
    const begun = createDeferred<void>();
    const common = {
      ...at,
      environment: { PATH: process.env["PATH"], HOME: at.home },
      permissionMode: "bypassPermissions",
    } as const;
    const create = lostWorker(() => begun.resolve());
    const first = await openSessionOn({ ...common, model: createCast(before) }, create);
    const run = first.prompt("MAIN: do it.");
    await begun.promise;
    await first.park("The worker is not connected.");
    expect(await run.result).toMatchObject({ reason: "parked" });

    const model = createCast(after);
    const second = await openSessionOn({ ...common, model, resume: first.id }, create);
    const resumed = second.prompt("");
    const lines: Line[] = [];
    const events = second.events();
    const reading = (async () => {
      for await (const { event } of events) if ("id" in event) lines.push(event);
    })();
    expect(await resumed.result).toMatchObject({ outcome: "succeeded", text: "Done." });
    await second.close();
    await reading;
    const ends = lines.flatMap((line) => (line.type === "tool.ended" && line.name === "Bash" ? [line.result] : []));
    expect(ends).toEqual([late]);
    const notices = lines.flatMap((line) => (line.type === "notice.raised" ? [line] : []));
    expect(notices).toMatchObject([{ code: "parked", message: "The worker is not connected." }]);
    const [asker] = Object.keys(after).slice(-1);
    expect(JSON.stringify(model.requests(asker ?? "").at(-1))).toContain(textOf(late.content));
  },
);
