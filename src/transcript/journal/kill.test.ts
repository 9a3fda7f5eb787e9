import { expect, it } from "vitest";
import { killSessions } from "./kill-sessions.test-support.ts";

it("keeps everything acknowledged after kill -9, again and again", async () => {
  const report = await killSessions({ seed: 1, count: 10 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBe(10);
  expect(report.acknowledged).toBeGreaterThan(100);
}, 60_000);
