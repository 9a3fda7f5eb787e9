// Owns: schedules, that is, what to run and when, the file that lists them, and starting those that are due. Does not
// own: running sessions. Called by: server, cli.
export { nextTimes, parseWhen, type When } from "./parse-when.ts";
export { openSchedules, type Schedule, type ScheduleStore } from "./schedule-store.ts";
export {
  createScheduler,
  type Scheduler,
  type SchedulerOptions,
  type SessionActivity,
  type StartedSession,
} from "./scheduler.ts";
