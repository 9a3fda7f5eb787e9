import { describe, expect, it } from "vitest";
import { testHead } from "./compaction.test-support.ts";
import { contextLimits } from "./context-limits.ts";

const model = { provider: "p", window: 200_000, maxOutputTokens: 400 };
const talkative = { ...model, maxOutputTokens: 32_000 };
const at = (wish: Partial<Parameters<typeof contextLimits>[0]>): number | undefined =>
  contextLimits({ head: testHead, model, ...wish })?.compactAt;

describe("a conversation is compacted", () => {
  it("at 95% of the window, or earlier if a response would not fit", () => {
    expect(at({})).toBe(190_000);
    expect(at({ model: talkative })).toBe(168_000);
  });

  it("at the percentage from the settings, but never beyond the window", () => {
    expect(at({ percent: 50 })).toBe(100_000);
    expect(at({ percent: 100, model: talkative })).toBe(168_000);
    expect(at({ percent: 0 })).toBe(2_000);
    expect(at({ percent: 500 })).toBe(199_600);
  });

  it("at the agent's own limit if that is lower; a response may exceed it", () => {
    expect(at({ contextTokens: 50_000 })).toBe(47_500);
    expect(at({ contextTokens: 50_000, model: talkative })).toBe(47_500);
    expect(at({ contextTokens: 900_000 })).toBe(190_000);
  });

  it("early enough to leave at most a quarter of a small window for a response", () => {
    expect(at({ model: { provider: "p", window: 20_000, maxOutputTokens: 64_000 } })).toBe(15_000);
  });

  it("never with the offline model", () => {
    expect(at({ model: { ...model, provider: "offline" } })).toBeUndefined();
  });
});
