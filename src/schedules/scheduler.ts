import { describeError, formatDuration } from "../lib/index.ts";
import type { Clock } from "../ports/index.ts";
import type { Outcome, SessionId } from "../protocol/index.ts";
import { nextTimes } from "./parse-when.ts";
import type { LastRun, Schedule, ScheduleStore } from "./schedule-store.ts";

export interface SchedulerOptions {
  readonly store: ScheduleStore;
  readonly clock: Pick<Clock, "now">;
  /** Directories that the server serves. Other schedules are left to other servers. */
  readonly serves: (cwd: string) => boolean;
  /** Starts a session. `ended` resolves when its first run has ended, or the session was closed before that. */
  readonly start: (schedule: Schedule) => Promise<StartedSession>;
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
}

export interface StartedSession {
  readonly sessionId: SessionId;
  readonly ended: Promise<Outcome | undefined>;
}

export interface Scheduler {
  /** Starts everything that is due. Called by a timer. Never rejects. */
  check(): Promise<void>;
  close(): void;
}

/** How often the file is read. A schedule starts at most this much too late. */
const CHECK_MS = 15_000;

/**
 * How late a schedule may start because no server was running. Several missed times lead to one session. Older ones
 * are skipped.
 */
const LATEST_MS = 24 * 60 * 60 * 1000;

/** Starts the sessions of schedules when they are due. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, clock, report } = options;
  const running = new Set<string>();
  let problem: string | undefined;
  const timer = setInterval(() => void check(), CHECK_MS);
  timer.unref();

  async function check(): Promise<void> {
    try {
      const now = clock.now();
      const due = store
        .list()
        .filter((schedule) => options.serves(schedule.cwd) && dueTime(schedule, now) !== undefined);
      await Promise.all(due.map((schedule) => begin(schedule, now)));
      problem = undefined;
    } catch (error) {
      const message = describeError(error);
      if (message !== problem) report(`Schedules are not started: ${message}`);
      problem = message;
    }
  }

  async function begin(schedule: Schedule, now: number): Promise<void> {
    const { id, text } = schedule;
    const missed = dueTime(schedule, now) ?? now;
    if (running.has(id)) {
      await note(id, { at: now, problem: "Skipped, because its last session was still running." });
      return report(`Schedule ${id} (${text}) was skipped, because its last session is still running.`);
    }
    // The time is recorded before the session starts, so that a server that is killed now does not start it twice.
    const isFirst = ({ last }: Schedule): boolean => last === undefined || last.at < missed;
    const claimed = await store.change(id, (each) => (isFirst(each) ? { ...each, last: { at: now } } : undefined));
    // The schedule was removed, or another server has started it.
    if (claimed === undefined) return;
    running.add(id);
    if (now - missed > 2 * CHECK_MS) report(`Schedule ${id} (${text}) starts ${formatDuration(now - missed)} late.`);
    try {
      const { sessionId, ended } = await options.start(schedule);
      await note(id, { at: now, sessionId });
      report(`Schedule ${id} (${text}) started session ${sessionId}.`);
      void ended
        .then((outcome) => finish(schedule, { at: now, sessionId, outcome }))
        .catch((error) => report(describeError(error)))
        .finally(() => running.delete(id));
    } catch (error) {
      running.delete(id);
      const message = describeError(error);
      await note(id, { at: now, problem: message });
      report(`Schedule ${id} (${text}) could not start: ${message}`);
    }
  }

  async function finish({ id, text }: Schedule, last: LastRun): Promise<void> {
    await note(id, last);
    report(
      `Schedule ${id} (${text}): session ${last.sessionId} ${last.outcome ?? "was closed before it ended"}. To see it: retinue sessions show ${last.sessionId}`,
    );
  }

  async function note(id: string, last: LastRun): Promise<void> {
    await store.change(id, (schedule) => ({ ...schedule, last }));
  }

  return { check, close: () => clearInterval(timer) };
}

/** Returns the time for which a schedule must start now; undefined if it is not due. */
function dueTime({ when, paused, createdAt, last, requestedAt }: Schedule, now: number): number | undefined {
  if (requestedAt !== undefined && requestedAt > (last?.at ?? 0)) return requestedAt;
  if (paused) return undefined;
  const since = Math.max(createdAt, last?.at ?? 0, now - LATEST_MS);
  const [next] = nextTimes(when, since, 1);
  return next !== undefined && next <= now ? next : undefined;
}
