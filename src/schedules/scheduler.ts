import { describeError, formatDuration } from "../lib/index.ts";
import type { Clock } from "../ports/index.ts";
import type { RunEnd, SessionId } from "../protocol/index.ts";
import { nextTimes } from "./parse-when.ts";
import type { LastRun, Schedule, ScheduleStore } from "./schedule-store.ts";

export interface SchedulerOptions {
  readonly store: ScheduleStore;
  readonly clock: Pick<Clock, "now">;
  /** Returns whether the server serves a directory. Schedules for other directories are left to other servers. */
  readonly serves: (cwd: string) => boolean;
  /** Starts a session. `ended` resolves when the session's first run has ended or the session has been closed. */
  readonly start: (schedule: Schedule) => Promise<StartedSession>;
  /** Returns what a session is doing; undefined if it has nothing to do or is not open here. */
  readonly activity: (sessionId: SessionId) => SessionActivity | undefined;
  /** Receives messages for the user. */
  readonly report: (message: string) => void;
}

export interface StartedSession {
  readonly sessionId: SessionId;
  readonly ended: Promise<Pick<RunEnd, "outcome" | "reason" | "message">>;
}

export interface SessionActivity {
  /** Ids of the requests for approval that are waiting for an answer. */
  readonly requests: readonly string[];
}

export interface Scheduler {
  /** Starts everything that is due. Called by a timer. Never rejects. */
  check(): Promise<void>;
  close(): void;
}

/** Interval at which the file is read. A schedule starts at most this late. */
const CHECK_MS = 15_000;

/**
 * How late a schedule may start if no server was running. Several missed times lead to only one session. Times that are
 * further back are skipped.
 */
const LATEST_MS = 24 * 60 * 60 * 1000;

/** Creates a scheduler, which starts sessions for the schedules that are due. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, clock, report } = options;
  const running = new Set<string>();
  /** Requests for approval and problems that have been reported to the user. */
  const reported = new Set<string>();
  let problem: string | undefined;
  const timer = setInterval(() => void check(), CHECK_MS);
  timer.unref();

  async function check(): Promise<void> {
    try {
      const now = clock.now();
      reportOnce(store.problems());
      for (const schedule of store.list()) if (isAhead(schedule, now)) await correct(schedule, now);
      const served = store.list().filter(({ cwd }) => options.serves(cwd));
      for (const schedule of served) reportRequests(schedule);
      const due = served.filter((schedule) => dueTime(schedule, now) !== undefined);
      await Promise.all(due.map((schedule) => begin(schedule, now)));
      problem = undefined;
    } catch (error) {
      const message = describeError(error);
      if (message !== problem) report(`Schedules are not started: ${message}`);
      problem = message;
    }
  }

  /** Corrects a schedule's times that were recorded while the clock was ahead, so that the schedule starts again. */
  async function correct({ id, text }: Schedule, now: number): Promise<void> {
    await store.change(id, (schedule) => (isAhead(schedule, now) ? withoutFuture(schedule, now) : undefined));
    report(
      `Schedule ${id} (${text}) was last used while the clock was ahead. It will start at its next scheduled time.`,
    );
  }

  function reportOnce(messages: readonly string[]): void {
    for (const message of messages) {
      if (!reported.has(message)) report(message);
      reported.add(message);
    }
  }

  async function begin(schedule: Schedule, now: number): Promise<void> {
    const { id, text } = schedule;
    const missed = dueTime(schedule, now) ?? now;
    const isRunning = running.has(id) || activityOf(schedule) !== undefined;
    // The time is recorded before the session starts, so that it is not started again if the server is killed now.
    const claimed = await store.change(id, (each) => {
      if (lastTime(each) >= missed) return undefined;
      return { ...each, last: isRunning && each.last ? { ...each.last, skippedAt: now } : { at: now } };
    });
    // The schedule was removed, or another server has started it.
    if (claimed === undefined) return;
    if (isRunning) return report(skippedText(claimed, activityOf(claimed)));
    running.add(id);
    if (now - missed > 2 * CHECK_MS) report(`Schedule ${id} (${text}) starts ${formatDuration(now - missed)} late.`);
    try {
      const { sessionId, ended } = await options.start(schedule);
      await note(id, { at: now, sessionId });
      report(`Schedule ${id} (${text}) started session ${sessionId}.`);
      void ended
        .then((end) => finish(schedule, sessionId, end))
        .catch((error) => report(describeError(error)))
        .finally(() => running.delete(id));
    } catch (error) {
      running.delete(id);
      const message = describeError(error);
      await note(id, { at: now, problem: message });
      report(`Schedule ${id} (${text}) could not start: ${message}`);
    }
  }

  async function finish({ id, text }: Schedule, sessionId: SessionId, end: EndedRun): Promise<void> {
    const { outcome, reason, message } = end;
    const isParked = reason === "parked";
    const problem = outcome === "succeeded" || isParked ? undefined : message;
    if (!isParked)
      await store.change(id, (schedule) =>
        schedule.last?.sessionId === sessionId
          ? { ...schedule, last: { ...schedule.last, outcome, problem } }
          : undefined,
      );
    const why = problem === undefined ? "" : ` (${problem.replace(/\.$/, "")})`;
    const how = isParked ? "is parked; it will continue when a server is started again" : `${outcome}${why}`;
    report(`Schedule ${id} (${text}): session ${sessionId} ${how}. To see it: retinue sessions show ${sessionId}`);
  }

  function activityOf({ last }: Schedule): SessionActivity | undefined {
    return last?.sessionId === undefined || last.outcome !== undefined ? undefined : options.activity(last.sessionId);
  }

  /** Reports each request for approval once, in case no one is watching the session. */
  function reportRequests(schedule: Schedule): void {
    const { id, text, last } = schedule;
    for (const request of activityOf(schedule)?.requests ?? []) {
      if (!reported.has(request))
        report(`Schedule ${id} (${text}): session ${last?.sessionId} ${waitingText(last?.sessionId, request)}`);
      reported.add(request);
    }
  }

  async function note(id: string, last: LastRun): Promise<void> {
    await store.change(id, (schedule) => ({ ...schedule, last }));
  }

  return { check, close: () => clearInterval(timer) };
}

type EndedRun = Awaited<StartedSession["ended"]>;

function skippedText({ id, text, last }: Schedule, activity: SessionActivity | undefined): string {
  const skipped = `Schedule ${id} (${text}) was skipped, because its last session`;
  const [request] = activity?.requests ?? [];
  if (request === undefined) return `${skipped} is still running. To follow it: retinue attach ${last?.sessionId}`;
  return `${skipped} ${waitingText(last?.sessionId, request)}`;
}

function waitingText(sessionId: SessionId | undefined, request: string): string {
  const list = `retinue approvals list --session ${sessionId}`;
  return `is waiting for approval. To see the request: ${list}. To answer it: retinue approvals answer ${request} allow|deny`;
}

/** How far a recorded time may be ahead of the clock, which can be adjusted a little at any time. */
const AHEAD_MS = 60_000;

/** Returns whether a schedule was changed or started while the clock was ahead. */
function isAhead({ createdAt, requestedAt = 0, last }: Schedule, now: number): boolean {
  return Math.max(createdAt, requestedAt, lastTime({ last })) > now + AHEAD_MS;
}

/** Returns a schedule as if everything that was recorded for the future had just happened. */
function withoutFuture({ createdAt, requestedAt, last, ...schedule }: Schedule, now: number): Schedule {
  const before = (time: number): number => Math.min(time, now - 1);
  // A request to run the schedule now that has already started a session must not look newer than that session, or it
  // would start another one.
  const isWaiting = requestedAt !== undefined && requestedAt > lastTime({ last });
  return {
    ...schedule,
    createdAt: before(createdAt),
    requestedAt: isWaiting ? Math.min(requestedAt, now) : undefined,
    last: last && { ...last, at: before(last.at), skippedAt: last.skippedAt && before(last.skippedAt) },
  };
}

/** Returns the last scheduled time that started a session or was skipped; 0 if there is none. */
function lastTime({ last }: Pick<Schedule, "last">): number {
  return Math.max(last?.at ?? 0, last?.skippedAt ?? 0);
}

/** Returns the scheduled time that is now due; undefined if the schedule is not due. */
function dueTime({ when, paused, createdAt, last, requestedAt }: Schedule, now: number): number | undefined {
  const before = lastTime({ last });
  if (requestedAt !== undefined && requestedAt > before) return requestedAt;
  if (paused) return undefined;
  const since = Math.max(createdAt, before, now - LATEST_MS);
  const [next] = nextTimes(when, since, 1);
  return next !== undefined && next <= now ? next : undefined;
}
