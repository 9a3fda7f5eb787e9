import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createDeferred } from "../lib/index.ts";
import type { RunEnd } from "../protocol/index.ts";
import { openSchedules, parseWhen, type Schedule, type SchedulerOptions, type SessionActivity } from "./index.ts";
import { createScheduler } from "./scheduler.ts";

const at = (time: string): number => Date.parse(`2026-11-17T${time}Z`);

type End = Pick<RunEnd, "outcome" | "reason" | "message">;
const succeeded: End = { outcome: "succeeded", reason: "done" };

/** Schedules in a file, a clock that the test sets, and sessions that the test ends. */
function newPlace() {
  const directory = mkdtempSync(join(tmpdir(), "retinue-schedules-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "state", "schedules.json");
  const store = openSchedules(path);
  const clock = { time: at("06:00:00"), now: () => clock.time };
  const reports: string[] = [];
  const started: { readonly schedule: Schedule; readonly end: (end: End) => void }[] = [];
  const activities = new Map<string, SessionActivity>();
  const options: SchedulerOptions = {
    store,
    clock,
    serves: (cwd) => cwd === "/project",
    start: async (schedule) => {
      const { promise, resolve } = createDeferred<End>();
      started.push({ schedule, end: resolve });
      return { sessionId: `session-${started.length}`, ended: promise };
    },
    activity: (sessionId) => activities.get(sessionId),
    report: (message) => void reports.push(message),
  };
  const open = (more: Partial<SchedulerOptions> = {}) => {
    const scheduler = createScheduler({ ...options, ...more });
    onTestFinished(() => scheduler.close());
    return {
      checkAt: (time: string) => {
        clock.time = at(time);
        return scheduler.check();
      },
    };
  };
  return { path, store, reports, started, activities, open };
}

function schedule(more: Partial<Schedule> = {}): Schedule {
  const text = "every day 7:00";
  const when = parseWhen(text, "UTC");
  return { id: "s1", text, when, cwd: "/project", session: { prompt: "Do it." }, createdAt: at("06:00:00"), ...more };
}

it("starts one session when a schedule is due", async () => {
  const { store, started, open } = newPlace();
  await store.add(schedule());
  const { checkAt } = open();
  await checkAt("06:59:59");
  expect(started).toHaveLength(0);
  await checkAt("07:00:05");
  await checkAt("07:00:20");
  expect(started.map((each) => each.schedule.session.prompt)).toEqual(["Do it."]);
  expect(store.list()[0]?.last).toEqual({ at: at("07:00:05"), sessionId: "session-1" });
});

it("starts a session only once if two servers serve the same directory", async () => {
  const { store, started, open } = newPlace();
  await store.add(schedule());
  const [one, other] = [open(), open()];
  await Promise.all([one.checkAt("07:00:05"), other.checkAt("07:00:05")]);
  expect(started).toHaveLength(1);
});

it("records how the session ended", async () => {
  const { store, started, reports, open } = newPlace();
  await store.add(schedule());
  const { checkAt } = open();
  await checkAt("07:00:05");
  started[0]?.end({ outcome: "incomplete", reason: "budget", message: "The price of the model is not known." });
  const ended =
    "Schedule s1 (every day 7:00): session session-1 incomplete (The price of the model is not known). To see it: retinue sessions show session-1";
  await expect.poll(() => reports.at(-1)).toBe(ended);
  expect(store.list()[0]?.last).toMatchObject({
    outcome: "incomplete",
    problem: "The price of the model is not known.",
  });
});

it("starts a schedule once, at most a day late, if its time was missed while no server was running", async () => {
  const { store, started, reports, open } = newPlace();
  await store.add(schedule({ when: parseWhen("every hour", "UTC"), text: "every hour" }));
  await store.add(
    schedule({ id: "s2", createdAt: at("06:00:00") - 40 * 3_600_000, when: parseWhen("0 7 16 11 *", "UTC") }),
  );
  await store.add(
    schedule({ id: "s3", createdAt: at("06:00:00") - 40 * 3_600_000, when: parseWhen("0 3 16 11 *", "UTC") }),
  );
  const { checkAt } = open();
  await checkAt("06:30:00");
  expect(started.map((each) => each.schedule.id)).toEqual(["s2"]);
  await checkAt("11:20:00");
  expect(started.map((each) => each.schedule.id)).toEqual(["s2", "s1"]);
  expect(reports.find((each) => each.includes("late"))).toMatch(/s2 .* starts 23 h 30 min late|s2 .* late/);
});

it("skips a time if the last session is still running", async () => {
  const { store, started, reports, open } = newPlace();
  await store.add(schedule({ when: parseWhen("every hour", "UTC") }));
  const { checkAt } = open();
  await checkAt("07:00:01");
  await checkAt("08:00:01");
  expect(started).toHaveLength(1);
  expect(reports.at(-1)).toMatch(
    /skipped, because its last session is still running. To follow it: retinue attach session-1$/,
  );
  expect(store.list()[0]?.last).toEqual({ at: at("07:00:01"), sessionId: "session-1", skippedAt: at("08:00:01") });
  started[0]?.end(succeeded);
  await expect.poll(() => reports.at(-1)).toMatch(/session-1 succeeded/);
  expect(store.list()[0]?.last?.outcome).toBe("succeeded");
  await checkAt("08:00:41");
  expect(started).toHaveLength(1);
  await checkAt("09:00:01");
  expect(started).toHaveLength(2);
});

it("skips a time if an earlier server's session is still running", async () => {
  const { store, started, activities, open } = newPlace();
  await store.add(
    schedule({ when: parseWhen("every hour", "UTC"), last: { at: at("07:00:01"), sessionId: "earlier" } }),
  );
  activities.set("earlier", { requests: [] });
  const { checkAt } = open();
  await checkAt("08:00:01");
  expect(started).toHaveLength(0);
  activities.clear();
  await checkAt("09:00:01");
  expect(started).toHaveLength(1);
});

it("reports requests for approval once, with the command that answers them", async () => {
  const { store, reports, activities, open } = newPlace();
  await store.add(schedule({ when: parseWhen("every hour", "UTC"), text: "every hour" }));
  const { checkAt } = open();
  await checkAt("07:00:01");
  activities.set("session-1", { requests: ["ask_1"] });
  await checkAt("07:00:16");
  const how =
    "is waiting for approval. To see the request: retinue approvals list --session session-1. To answer it: retinue approvals answer ask_1 allow|deny";
  expect(reports.at(-1)).toBe(`Schedule s1 (every hour): session session-1 ${how}`);
  const count = reports.length;
  await checkAt("07:00:31");
  expect(reports).toHaveLength(count);
  await checkAt("08:00:01");
  expect(reports.at(-1)).toBe(`Schedule s1 (every hour) was skipped, because its last session ${how}`);
});

it("says that a parked session continues", async () => {
  const { store, started, reports, open } = newPlace();
  await store.add(schedule());
  await open().checkAt("07:00:05");
  started[0]?.end({ outcome: "stopped", reason: "parked" });
  await expect
    .poll(() => reports.at(-1))
    .toMatch(/session session-1 is parked; it will continue when a server is started again\. /);
  expect(store.list()[0]?.last).toEqual({ at: at("07:00:05"), sessionId: "session-1" });
});

it("ignores paused schedules and schedules for other directories", async () => {
  const { store, started, open } = newPlace();
  await store.add(schedule({ cwd: "/elsewhere" }));
  await store.add(schedule({ id: "s2", paused: true }));
  const { checkAt } = open();
  await checkAt("07:00:05");
  expect(started).toEqual([]);
});

it("starts a schedule when the user asks for it, even if it is paused", async () => {
  const { store, started, open } = newPlace();
  await store.add(schedule({ paused: true, requestedAt: at("06:10:00") }));
  const { checkAt } = open();
  await checkAt("06:10:10");
  await checkAt("06:10:25");
  await checkAt("07:00:05");
  expect(started).toHaveLength(1);
});

it("records why a session could not start, and tries again at the next time", async () => {
  const { store, reports, open } = newPlace();
  await store.add(schedule({ when: parseWhen("every hour", "UTC") }));
  let tries = 0;
  const { checkAt } = open({
    start: async () => {
      tries += 1;
      throw new Error("The worker is not connected.");
    },
  });
  await checkAt("07:00:05");
  expect(store.list()[0]?.last).toEqual({ at: at("07:00:05"), problem: "The worker is not connected." });
  expect(reports.at(-1)).toMatch(/could not start: The worker is not connected/);
  await checkAt("07:00:20");
  await checkAt("08:00:05");
  expect(tries).toBe(2);
});

it("reports a damaged file once, and never overwrites it", async () => {
  const { path, store, reports, open } = newPlace();
  await store.add(schedule());
  writeFileSync(path, '{"version": 1, "sched');
  const { checkAt } = open();
  await checkAt("07:00:05");
  await checkAt("07:00:20");
  expect(reports).toHaveLength(1);
  expect(reports[0]).toContain("schedules.json:1:16 can't be read");
  await expect(store.add(schedule({ id: "s2" }))).rejects.toThrow(/can't be read/);
  expect(readFileSync(path, "utf8")).toBe('{"version": 1, "sched');
});

it("keeps the changes of two processes that write concurrently", async () => {
  const { path, store } = newPlace();
  const other = openSchedules(path);
  await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 ? store : other).add(schedule({ id: `s${index}` }))),
  );
  expect(store.list()).toHaveLength(10);
  expect(store.find("s3").id).toBe("s3");
  expect(() => store.find("nothing")).toThrow(/There is no schedule "nothing"/);
});

it("starts a schedule at its next time if the clock was ahead when it was last used", async () => {
  const { store, started, reports, open } = newPlace();
  const nextDay = at("05:04:00") + 24 * 60 * 60 * 1000;
  await store.add(schedule({ last: { at: nextDay, sessionId: "s", outcome: "succeeded" } }));
  await store.add(schedule({ id: "s2", createdAt: nextDay }));
  await store.add(schedule({ id: "s3", paused: true, requestedAt: nextDay }));
  const { checkAt } = open();
  await checkAt("06:59:50");
  expect(started.map(({ schedule: { id } }) => id)).toEqual(["s3"]);
  expect(reports.filter((message) => message.includes("clock was ahead"))).toHaveLength(3);
  started[0]?.end(succeeded);
  await checkAt("06:59:55");
  expect(started).toHaveLength(1);
  await checkAt("07:00:01");
  expect(started.map(({ schedule: { id } }) => id)).toEqual(["s3", "s1", "s2"]);
});

it("does not repeat a requested session that was started while the clock was ahead", async () => {
  const { store, started, reports, open } = newPlace();
  const nextDay = at("05:04:00") + 24 * 60 * 60 * 1000;
  const last = { at: nextDay + 5_000, sessionId: "s", outcome: "succeeded" } as const;
  await store.add(schedule({ requestedAt: nextDay, last }));
  const { checkAt } = open();
  await checkAt("06:30:00");
  await checkAt("06:30:15");
  expect(started).toHaveLength(0);
  expect(reports).toHaveLength(1);
  await checkAt("07:00:01");
  expect(started).toHaveLength(1);
});

it("ignores and keeps an incomplete entry, and says so once", async () => {
  const { path, store, started, reports, open } = newPlace();
  await store.add(schedule());
  const file = JSON.parse(readFileSync(path, "utf8")) as { schedules: unknown[] };
  file.schedules.unshift({ id: "x" });
  writeFileSync(path, JSON.stringify(file));
  expect(store.list().map(({ id }) => id)).toEqual(["s1"]);
  const { checkAt } = open();
  await checkAt("06:30:00");
  await checkAt("07:00:01");
  expect(started).toHaveLength(1);
  expect(reports.filter((message) => message.includes("incomplete"))).toEqual([
    `${path} has 1 incomplete schedule, which will not start. Complete or delete it.`,
  ]);
  expect(readFileSync(path, "utf8")).toContain('"id": "x"');
});
