import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDeferred } from "./deferred.ts";
import { createSemaphore } from "./limit-concurrency.ts";

describe("semaphore", () => {
  it("never runs more than its limit, all of them, in order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(3), { maxLength: 30 }), async (limit, turns) => {
        const semaphore = createSemaphore(limit);
        const started: number[] = [];
        let running = 0;
        let most = 0;
        await Promise.all(
          turns.map((ticks, index) =>
            semaphore.run(async () => {
              started.push(index);
              most = Math.max(most, ++running);
              for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
              running -= 1;
            }),
          ),
        );
        expect(started).toEqual(turns.map((_, index) => index));
        expect(most).toBeLessThanOrEqual(limit);
        expect([semaphore.active, semaphore.waiting]).toEqual([0, 0]);
      }),
    );
  });

  it("gives the turn back when the work fails, and once only", async () => {
    const semaphore = createSemaphore(1);
    await expect(semaphore.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const release = await semaphore.acquire();
    release();
    release();
    expect(semaphore.active).toBe(0);
    expect(await semaphore.run(() => 5)).toBe(5);
  });

  it("forgets who gave up waiting", async () => {
    const semaphore = createSemaphore(1);
    const release = await semaphore.acquire();
    const abort = new AbortController();
    const given = semaphore.acquire(abort.signal);
    const patient = createDeferred();
    const running = semaphore.run(() => patient.resolve());
    abort.abort(new Error("not any more"));
    await expect(given).rejects.toThrow("not any more");
    await expect(semaphore.acquire(abort.signal)).rejects.toThrow("not any more");
    expect(semaphore.waiting).toBe(1);
    release();
    await Promise.all([patient.promise, running]);
    expect(semaphore.active).toBe(0);
  });

  it("refuses a limit that lets nobody in", () => {
    expect(() => createSemaphore(0)).toThrow("at least 1");
  });
});
