import { readFileSync } from "node:fs";
import {
  describeError,
  errorCode,
  isRecord,
  matchId,
  parseJsonc,
  plural,
  UserError,
  withFileLock,
  writeAtomically,
} from "../lib/index.ts";
import type { NewSession, Outcome, SessionId } from "../protocol/index.ts";
import type { When } from "./parse-when.ts";

/** A prompt that a server runs at set times, each time in a new session. */
export interface Schedule {
  readonly id: string;
  /** The times as the user wrote them. */
  readonly text: string;
  readonly when: When;
  /** Directory in which the sessions run. */
  readonly cwd: string;
  readonly session: Omit<NewSession, "prompt" | "worker"> & { readonly prompt: string };
  readonly paused?: boolean | undefined;
  /** Time at which the user asked to run it immediately, in milliseconds since 1970. */
  readonly requestedAt?: number | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly last?: LastRun | undefined;
}

/** A schedule's last session, or the last attempt to start one. */
export interface LastRun {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly sessionId?: SessionId | undefined;
  readonly outcome?: Outcome | undefined;
  /** Why no session was started, or what went wrong. */
  readonly problem?: string | undefined;
  /** Last scheduled time that was skipped because this session was still running, in milliseconds since 1970. */
  readonly skippedAt?: number | undefined;
}

/** A user's schedules, in one file that the command line and servers share. */
export interface ScheduleStore {
  /** Returns all complete schedules, oldest first. Throws a `UserError` if the file is damaged. */
  list(): readonly Schedule[];
  /** Describes the entries of the file that are not complete schedules, which are kept but never start. */
  problems(): readonly string[];
  add(schedule: Schedule): Promise<void>;
  /**
   * Changes a schedule, unless `change` returns undefined. Returns the changed schedule; undefined if it was not
   * changed or has been removed.
   */
  change(id: string, change: (schedule: Schedule) => Schedule | undefined): Promise<Schedule | undefined>;
  remove(id: string): Promise<void>;
  /** Finds a schedule by its id or part of it. Throws a `UserError` if none or several match. */
  find(reference: string): Schedule;
}

export function openSchedules(path: string): ScheduleStore {
  async function update(change: (schedules: readonly Schedule[]) => readonly Schedule[]): Promise<void> {
    await withFileLock(path, async () => {
      const schedules = change(readEntries(path));
      await writeAtomically(path, `${JSON.stringify({ version: 1, schedules }, null, 2)}\n`);
    }).catch((error: unknown) => {
      throw error instanceof UserError || errorCode(error) === undefined ? error : unwritable(path, error);
    });
  }

  return {
    list: () => readSchedules(path),
    problems: () => {
      const count = readEntries(path).filter((entry) => !isComplete(entry)).length;
      if (count === 0) return [];
      const them = count === 1 ? "it" : "them";
      return [`${path} has ${plural(count, "incomplete schedule")}, which will not start. Complete or delete ${them}.`];
    },
    add: (schedule) => update((all) => [...all, schedule]),
    async change(id, change) {
      let changed: Schedule | undefined;
      await update((all) =>
        all.map((each) => {
          if (!isComplete(each) || each.id !== id) return each;
          changed = change(each);
          return changed ?? each;
        }),
      );
      return changed;
    },
    remove: (id) => update((all) => all.filter((each) => each.id !== id)),
    find(reference) {
      const all = readSchedules(path);
      const match = matchId(
        all.map(({ id }) => id),
        reference,
      );
      const found = match.kind === "one" ? all.find(({ id }) => id === match.id) : undefined;
      if (found !== undefined) return found;
      const message =
        match.kind === "many" ? `"${reference}" matches several schedules` : `There is no schedule "${reference}"`;
      throw new UserError(message, { code: "schedule", exitCode: 2, fix: '"retinue schedule list" shows them.' });
    },
  };
}

function readSchedules(path: string): readonly Schedule[] {
  return readEntries(path).filter(isComplete);
}

/** Returns whether an entry, which the user may have edited, has everything that a schedule needs. */
function isComplete(entry: unknown): entry is Schedule {
  if (!isRecord(entry)) return false;
  const { id, text, when, cwd, session, createdAt } = entry;
  if (!isRecord(when) || !isRecord(session) || typeof createdAt !== "number") return false;
  const texts = [id, text, cwd, when["cron"], when["timeZone"], session["prompt"]];
  return texts.every((each) => typeof each === "string");
}

function readEntries(path: string): readonly Schedule[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw damaged(path, describeError(error));
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    const read = parseJsonc(text);
    if ("error" in read) throw damaged(`${path}:${read.error.line}:${read.error.column}`, read.error.message);
    throw damaged(path, describeError(error));
  }
  if (!isRecord(parsed) || parsed["version"] !== 1 || !Array.isArray(parsed["schedules"]))
    throw damaged(path, "its format is unknown");
  return parsed["schedules"] as readonly Schedule[];
}

function unwritable(path: string, cause: unknown): UserError {
  return new UserError(`${path} can't be written: ${describeError(cause)}`, {
    code: "schedule",
    exitCode: 2,
    fix: "Make the state directory writable, or set RETINUE_HOME to another one.",
    cause,
  });
}

function damaged(path: string, reason: string): UserError {
  return new UserError(`${path} can't be read: ${reason.replace(/\.$/, "")}`, {
    code: "schedule",
    exitCode: 2,
    fix: "Restore the file, or delete it to start with no schedules.",
  });
}
