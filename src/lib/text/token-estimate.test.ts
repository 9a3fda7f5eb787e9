import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCalibration, estimateTokens } from "./token-estimate.ts";

describe("estimateTokens", () => {
  it.each([
    ["", 0],
    ["a", 1],
    ["x".repeat(3600), 1000],
    ["日本語", 3],
    ["приве", 3],
    ["👍", 2],
  ])("%j", (text, expected) => {
    expect(estimateTokens(text)).toBe(expected);
  });

  it("gives the same estimate for text and its bytes, and never a lower one for more text", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(text, text, (first, second) => {
        expect(estimateTokens(Buffer.from(first))).toBe(estimateTokens(first));
        expect(estimateTokens(first + second)).toBeGreaterThanOrEqual(estimateTokens(first));
        expect(estimateTokens(first + second)).toBeLessThanOrEqual(estimateTokens(first) + estimateTokens(second));
      }),
    );
  });
});

describe("calibration", () => {
  it("starts with a guess and learns the provider's ratio", () => {
    const calibration = createCalibration();
    expect(calibration.estimate(3600)).toBe(1000);
    for (let turn = 0; turn < 20; turn++) calibration.observe(50_000, 10_000);
    expect(calibration.bytesPerToken).toBeCloseTo(5, 2);
    expect(calibration.estimate(50_000)).toBeGreaterThanOrEqual(10_000);
    expect(calibration.estimate(50_000)).toBeLessThan(10_050);
  });

  it("follows changes in content", () => {
    const calibration = createCalibration();
    for (let turn = 0; turn < 20; turn++) calibration.observe(50_000, 10_000);
    for (let turn = 0; turn < 20; turn++) calibration.observe(30_000, 10_000);
    expect(calibration.bytesPerToken).toBeCloseTo(3, 1);
  });

  it("ignores impossible counts and stays within limits", () => {
    const calibration = createCalibration({ bytesPerToken: 4 });
    for (const [bytes, tokens] of [
      [0, 5],
      [5, 0],
      [-1, 5],
      [Number.NaN, 5],
      [5, Number.POSITIVE_INFINITY],
    ] as const)
      calibration.observe(bytes, tokens);
    expect(calibration.bytesPerToken).toBe(4);
    fc.assert(
      fc.property(fc.double(), fc.double(), (bytes, tokens) => {
        calibration.observe(bytes, tokens);
        expect(calibration.bytesPerToken).toBeGreaterThanOrEqual(0.49);
        expect(calibration.bytesPerToken).toBeLessThanOrEqual(20.01);
      }),
    );
  });
});
