import { expect, it } from "vitest";
import { killSessions } from "./kill-sessions.test-support.ts";

it("every acknowledged line survives repeated kill -9", async () => {
  const report = await killSessions({ seed: 1, count: 10 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBe(10);
  expect(report.acknowledged).toBeGreaterThan(100);
}, 60_000);
