import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { withTimeLimit } from "./time.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const untilAborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));

describe("withTimeLimit", () => {
  it("ends the work at the limit, even after garbage collection", async () => {
    const ended = withTimeLimit(new AbortController().signal, 50, untilAborted);
    for (let round = 0; round < 3; round++) {
      await wait(1);
      collectGarbage();
    }
    expect(await ended).toMatchObject({ name: "TimeoutError" });
  });

  it("passes on the caller's abort with its reason, even if it came first", async () => {
    const caller = new AbortController();
    const ended = withTimeLimit(caller.signal, 60_000, untilAborted);
    caller.abort("enough");
    expect(await ended).toBe("enough");
    expect(await withTimeLimit(caller.signal, 60_000, async (signal) => signal.reason)).toBe("enough");
  });

  it("returns the result of the work and leaves no listener behind", async () => {
    const caller = new AbortController();
    let within: AbortSignal | undefined;
    const value = await withTimeLimit(caller.signal, 60_000, async (signal) => {
      within = signal;
      return 7;
    });
    caller.abort();
    expect({ value, aborted: within?.aborted }).toEqual({ value: 7, aborted: false });
  });
});
