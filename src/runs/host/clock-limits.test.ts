import { describe, expect, it } from "vitest";
import { type ClockLimitsInput, clockLimits, connectionSilenceMs } from "./clock-limits.ts";

const subagent: ClockLimitsInput = { definition: {}, settings: {}, background: false, isMain: false };

describe("clockLimits", () => {
  it.each<[string, Partial<ClockLimitsInput>, ReturnType<typeof clockLimits>]>([
    ["a foreground subagent", {}, { idleMs: 300_000, wallMs: 300_000, atWall: "unless-background" }],
    ["a background subagent", { background: true }, { idleMs: 300_000 }],
    ["the main agent", { isMain: true }, { idleMs: 300_000 }],
    [
      "a foreground subagent with limits in the settings",
      { settings: { subagents: { timeoutSeconds: 60, idleSeconds: 30 } } },
      { idleMs: 30_000, wallMs: 60_000, atWall: "unless-background" },
    ],
    ["a foreground subagent without a limit", { settings: { subagents: { timeoutSeconds: 0 } } }, { idleMs: 300_000 }],
    [
      "the main agent with limits in the settings",
      { isMain: true, settings: { subagents: { timeoutSeconds: 60, idleSeconds: 30 } } },
      { idleMs: 30_000 },
    ],
    [
      "a foreground subagent whose definition has a timeout",
      { definition: { timeoutMs: 1_000 }, settings: { subagents: { timeoutSeconds: 0 } } },
      { idleMs: 300_000, wallMs: 1_000 },
    ],
    [
      "a background subagent whose definition has a timeout",
      { definition: { timeoutMs: 1_000 }, background: true },
      { idleMs: 300_000, wallMs: 1_000 },
    ],
    [
      "a foreground subagent while a user is present",
      { mayDetach: true },
      { idleMs: 300_000, wallMs: 300_000, atWall: "background" },
    ],
    [
      "a foreground subagent whose definition has a timeout, while a user is present",
      { definition: { timeoutMs: 1_000 }, mayDetach: true },
      { idleMs: 300_000, wallMs: 1_000 },
    ],
    [
      "a main agent with a limit on waiting",
      { isMain: true, settings: { background: { waitSeconds: 0 } } },
      { idleMs: 300_000, waitMs: 0 },
    ],
    [
      "a subagent, which may wait without a limit",
      { background: true, settings: { background: { waitSeconds: 0 } } },
      { idleMs: 300_000 },
    ],
    [
      "a main agent whose definition has a timeout",
      { definition: { timeoutMs: 1_000 }, isMain: true },
      { idleMs: 300_000, wallMs: 1_000 },
    ],
  ])("returns the limits of %s", (_, input, limits) => {
    expect(clockLimits({ ...subagent, ...input })).toEqual(limits);
  });
});

it.each([undefined, 1, 300, 3_600])("no connection times out before its run (idleSeconds %s)", (idleSeconds) => {
  const settings = idleSeconds === undefined ? {} : { subagents: { idleSeconds } };
  expect(connectionSilenceMs(settings)).toBeGreaterThan(clockLimits({ ...subagent, settings }).idleMs + 2_000);
});
