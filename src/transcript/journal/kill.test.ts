import { expect, it } from "vitest";
import { killSessions } from "./kill-sessions.test-support.ts";

it("every acknowledged line survives repeated kill -9", async () => {
  const report = await killSessions({ seed: 1, count: 5 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBe(5);
  expect(report.acknowledged).toBeGreaterThan(50);
}, 60_000);
