import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Failure, Retry } from "../transport/failure.ts";
import { retryAfterOf } from "../transport/failure.ts";
import { decideRetry, defaultRetryPolicy } from "./retry.ts";

const failed = (retry: Retry, retryAfterMs?: number): Failure => ({
  error: { code: "server", message: "It failed." },
  retry,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

describe("the delay before a retry", () => {
  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it("is never shorter than requested, and exceeds the maximum only if requested", () => {
    const policy = defaultRetryPolicy;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: policy.longestWaitMs }),
        unit,
        (attempt, asked, chance) => {
          const decision = decideRetry(failed("yes", asked), { attempt, policy, random: () => chance });
          if (!decision.again) throw new Error("gave up");
          expect(decision.delayMs).toBeGreaterThanOrEqual(asked);
          expect(decision.delayMs).toBeLessThanOrEqual(Math.max(asked, policy.capMs, 0));
          expect(decision.delayMs).toBeLessThanOrEqual(Math.max(asked, policy.baseMs * 2 ** (attempt - 1)));
          expect(decision.delayMs).toBeGreaterThanOrEqual(
            Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1)) / 2,
          );
        },
      ),
    );
  });

  it("is skipped after the last attempt that the kind of failure allows; the error says how many there were", () => {
    const situation = { policy: defaultRetryPolicy, random: () => 0 };
    for (const [retry, attempts] of [
      ["no", 1],
      ["few", 3],
      ["yes", 10],
    ] as const) {
      for (let attempt = 1; attempt < attempts; attempt += 1) {
        expect(decideRetry(failed(retry), { ...situation, attempt }).again).toBe(true);
      }
      const last = decideRetry(failed(retry), { ...situation, attempt: attempts });
      expect(last.again).toBe(false);
      if (!last.again && attempts > 1) expect(last.failure.error.message).toContain(`Tried ${attempts} times`);
    }
  });

  it("is reported as an error if it would be very long", () => {
    const decision = decideRetry(failed("yes", 3_600_000), { attempt: 1, policy: defaultRetryPolicy, random: () => 0 });
    expect(decision).toMatchObject({ again: false, failure: { error: { message: expect.stringContaining("1h") } } });
  });
});

describe("retry-after", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  it.each([
    [{ "retry-after": "12" }, 12_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after-ms": "x" }, undefined],
    [{}, undefined],
  ])("%j", (headers, expected) => {
    expect(retryAfterOf(headers, now)).toBe(expected);
  });
});
