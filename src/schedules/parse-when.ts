import { Cron } from "croner";
import { UserError } from "../lib/index.ts";

/** When a schedule runs. */
export interface When {
  /** Five-field cron expression. */
  readonly cron: string;
  /** Name of the time zone, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const groups: Readonly<Record<string, string>> = { day: "*", weekday: "1-5", weekend: "0,6" };
const EXAMPLES =
  'Write it like "every day 7:00", "every monday and thursday 18:30", "every weekday 9am", "every 2 hours", "every 15 minutes", or as a cron expression such as "0 7 * * 1-5".';

/** Parses a schedule's times, given in words or as a cron expression. Throws a `UserError` if the times are invalid. */
export function parseWhen(text: string, timeZone: string): When {
  if (!isTimeZone(timeZone))
    throw scheduleError(
      `"${timeZone}" is not a time zone`,
      "Use a name such as Europe/Berlin, America/New_York or UTC.",
    );
  const words = text.trim().toLowerCase().replace(/\s+/g, " ");
  const cron = /^[\d*@]/.test(words) ? words : cronOf(words, text);
  const when = { cron, timeZone };
  if (firstTime(when, text) === undefined)
    throw scheduleError(
      `"${text}" never happens`,
      "Choose a date that exists, such as the 28th instead of February 30.",
    );
  return when;
}

/** Returns a schedule's next times after a given time, in milliseconds since 1970. */
export function nextTimes({ cron, timeZone }: When, after: number, count: number): readonly number[] {
  const runs = new Cron(cron, { timezone: timeZone, mode: "5-part" }).nextRuns(count, new Date(after));
  return runs.map((date) => date.getTime());
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function firstTime(when: When, text: string): number | undefined {
  try {
    return nextTimes(when, Date.now(), 1)[0];
  } catch {
    throw scheduleError(
      `"${text}" is not a cron expression`,
      'A cron expression has five fields: minute (0-59), hour (0-23), day of the month (1-31), month (1-12) and day of the week (0-7). Example: "0 7 * * 1-5".',
    );
  }
}

function cronOf(words: string, text: string): string {
  const [, what = "", time] = /^(?:every )?(.+?)(?: (?:at )?(\d\S*(?: ?[ap]m)?|noon|midnight))?$/.exec(words) ?? [];
  const step = /^(?:(\d+) )?(minute|hour)s?$/.exec(what);
  if (step !== null && words.startsWith("every") && time === undefined)
    return stepOf(Number(step[1] ?? 1), step[2], text);
  if (what === "hourly") return "0 * * * *";
  const dayField = what === "daily" ? "*" : dayFieldOf(what);
  if (dayField === undefined) throw scheduleError(`"${text}" is not a time`, EXAMPLES);
  if (time === undefined) throw scheduleError(`"${text}" has no time of day`, `Add one: "${text} 7:00".`);
  const [hour, minute] = timeOfDay(time, text);
  return `${minute} ${hour} * * ${dayField}`;
}

function stepOf(count: number, unit: string | undefined, text: string): string {
  const whole = unit === "minute" ? 60 : 24;
  if (count < 1 || whole % count !== 0) {
    const choices = Array.from({ length: whole }, (_, index) => index + 1).filter((each) => whole % each === 0);
    throw scheduleError(
      `"${text}" would not be evenly spaced`,
      `Use a number of ${unit}s that divides ${whole}: ${choices.slice(0, -1).join(", ")}.`,
    );
  }
  if (unit === "minute") return count === 60 ? "0 * * * *" : `*/${count} * * * *`;
  return count === 24 ? "0 0 * * *" : `0 */${count} * * *`;
}

/** Returns the cron field for days of the week; undefined if a name is unknown. */
function dayFieldOf(names: string): string | undefined {
  const group = groups[names.replace(/s$/, "")];
  if (group !== undefined) return group;
  const numbers = names.split(/,? and |, ?| /).map((name) => {
    const singular = name.replace(/s$/, "");
    return singular.length < 3 ? -1 : days.findIndex((day) => day.startsWith(singular));
  });
  return numbers.includes(-1) ? undefined : numbers.join(",");
}

function timeOfDay(time: string, text: string): readonly [hour: number, minute: number] {
  if (time === "noon") return [12, 0];
  if (time === "midnight") return [0, 0];
  const [, hours, minutes = "0", half] = /^(\d{1,2})(?::(\d{2}))?(?: ?([ap]m))?$/.exec(time) ?? [];
  const given = Number(hours);
  const hour = half === undefined ? given : (given % 12) + (half === "pm" ? 12 : 0);
  const minute = Number(minutes);
  const isValid = hour < 24 && minute < 60 && (half === undefined || (given >= 1 && given <= 12));
  if (!isValid)
    throw scheduleError(`"${time}" in "${text}" is not a time of day`, 'Write it like "7:00", "18:30" or "7am".');
  return [hour, minute];
}

function scheduleError(message: string, fix: string): UserError {
  return new UserError(message, { code: "schedule", exitCode: 2, fix });
}
