import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createDeferred } from "../lib/index.ts";
import type { ToolResult } from "../protocol/index.ts";
import { CallLedger, recallFromFile } from "./call-ledger.ts";

const never = new AbortController().signal;
const ok = (text: string): ToolResult => ({ outcome: "ok", content: [{ type: "text", text }] });

function newPath(): string {
  const directory = mkdtempSync(join(tmpdir(), "retinue-ledger-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, "s1.jsonl");
}

it("performs a request once, and gives its result to every request with the same id", async () => {
  const ledger = new CallLedger(newPath());
  const gate = createDeferred<ToolResult>();
  let count = 0;
  const work = () => {
    count += 1;
    return gate.promise;
  };
  const call = { id: "1.1", callId: "c1" };
  const both = [ledger.perform(call, work, never), ledger.perform(call, work, never)];
  gate.resolve(ok("é"));
  expect(await Promise.all(both)).toEqual([ok("é"), ok("é")]);
  expect(await ledger.perform(call, work, never)).toEqual(ok("é"));
  expect(count).toBe(1);
  await ledger.perform({ id: "1.2", callId: "c1" }, async () => ok("second"), never);
  expect(await ledger.recall("c1")).toEqual(ok("second"));
});

it("aborts a call when any request for it is aborted", async () => {
  const ledger = new CallLedger(newPath());
  const abort = new AbortController();
  const work = (signal: AbortSignal) =>
    new Promise<ToolResult>((resolve) => signal.addEventListener("abort", () => resolve(ok("aborted"))));
  const first = ledger.perform({ id: "1.1", callId: "c1" }, work, never);
  const second = ledger.perform({ id: "1.1", callId: "c1" }, work, abort.signal);
  abort.abort();
  expect(await Promise.all([first, second])).toEqual([ok("aborted"), ok("aborted")]);
  void ledger.perform({ id: "1.2", callId: "c2" }, work, never);
  expect(await ledger.recall("c2", abort.signal)).toEqual(ok("aborted"));
});

it("answers from its file after a crash, even if the last line is torn", async () => {
  const path = newPath();
  const ledger = new CallLedger(path);
  await ledger.perform({ id: "1.1", callId: "ended" }, async () => ok("kept"), never);
  void ledger.perform({ id: "1.2", callId: "started" }, () => new Promise(() => {}), never);
  appendFileSync(path, '{"ended":"1.2","result":{"outco');
  const next = new CallLedger(path);
  expect(await next.recall("ended")).toEqual(ok("kept"));
  expect(await next.recall("started")).toBe("lost");
  expect(await next.recall("other")).toBe("never begun");
  expect(next.open).toEqual(["ended", "started"]);
  await next.perform({ id: "2.1", callId: "later" }, async () => ok("after"), never);
  expect(await recallFromFile(path, "later")).toEqual(ok("after"));
  expect(await recallFromFile(`${path}.none`, "later")).toBe("lost");
});

it("reports a call that it does not contain as lost if the ledger is newer than the session", async () => {
  const ledger = new CallLedger(newPath());
  expect(await ledger.recall("c1")).toBe("lost");
  ledger.reopen();
  expect(await ledger.recall("c1")).toBe("never begun");
});

it("forgets acknowledged results, but not that their calls began", async () => {
  const path = newPath();
  const ledger = new CallLedger(path);
  const gate = createDeferred<ToolResult>();
  const running = ledger.perform({ id: "1.0", callId: "running" }, () => gate.promise, never);
  const long = "x".repeat(100_000);
  for (let index = 1; index <= 200; index += 1) {
    await ledger.perform({ id: `1.${index}`, callId: `c${index}` }, async () => ok(long + index), never);
    ledger.acknowledge([`1.${index - 1}`]);
  }
  expect(statSync(path).size).toBeLessThan(5_000_000);
  expect(ledger.open).toEqual(["running", "c200"]);
  expect(await ledger.recall("c200")).toEqual(ok(`${long}200`));
  ledger.reopen();
  expect(await ledger.recall("c7")).toBe("lost");
  expect((await ledger.perform({ id: "1.7", callId: "c7" }, async () => ok("again"), never)).outcome).toBe("unknown");
  gate.resolve(ok("done"));
  expect(await running).toEqual(ok("done"));
  expect(await recallFromFile(path, "running")).toEqual(ok("done"));
  expect(await recallFromFile(path, "c7")).toBe("lost");
  await ledger.remove();
  expect(() => readFileSync(path)).toThrow("ENOENT");
});
