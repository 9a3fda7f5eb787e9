import { describe, expect, it } from "vitest";
import { testHead } from "./compaction.test-support.ts";
import { contextLimits } from "./context-limits.ts";

const model = { provider: "p", window: 200_000 };
const at = (wish: Partial<Parameters<typeof contextLimits>[0]>): number | undefined =>
  contextLimits({ head: testHead, model, ...wish })?.compactAt;

describe("a conversation is compacted", () => {
  it("at 95 % of the window, or where an answer no longer fits", () => {
    expect(at({})).toBe(190_000);
    expect(at({ head: { ...testHead, maxTokens: 32_000 } })).toBe(168_000);
  });

  it("at the share the settings say, which can't give what the window has not", () => {
    expect(at({ percent: 50 })).toBe(100_000);
    expect(at({ percent: 100, head: { ...testHead, maxTokens: 32_000 } })).toBe(168_000);
    expect(at({ percent: 0 })).toBe(2_000);
    expect(at({ percent: 500 })).toBe(199_600);
  });

  it("at what the agent may fill, if that is less; an answer may go beyond it", () => {
    expect(at({ contextTokens: 50_000 })).toBe(47_500);
    expect(at({ contextTokens: 50_000, head: { ...testHead, maxTokens: 32_000 } })).toBe(47_500);
    expect(at({ contextTokens: 900_000 })).toBe(190_000);
  });

  it("not at every turn, where a head asks for more than the window has", () => {
    expect(at({ head: { ...testHead, maxTokens: 500_000 } })).toBe(100_000);
  });

  it("never by the offline model", () => {
    expect(at({ model: { provider: "offline", window: 200_000 } })).toBeUndefined();
  });
});
