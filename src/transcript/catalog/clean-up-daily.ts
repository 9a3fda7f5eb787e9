import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../ports/index.ts";
import type { CleanUp } from "./clean-up.ts";

export interface DailyCleanUp {
  readonly home: string;
  /** Sessions untouched for this many days are deleted; 0 disables the clean-up. */
  readonly days: number;
  readonly clock: Clock;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** The end of a command waits for the clean-up, so it must be short. */
const LIMIT_MS = 500;

/**
 * Runs `cleanUp` at most once a day and for a short time; the next run continues with the rest. Returns undefined, without
 * loading any code, if it is not due. Never rejects.
 */
export async function cleanUpDaily({ home, days, clock }: DailyCleanUp): Promise<CleanUp | undefined> {
  const stamp = join(home, "cleaned-up");
  if (!(days > 0) || isToday(stamp, clock.now())) return undefined;
  try {
    // Written first, so that a run that dies midway is not repeated by every command.
    writeFileSync(stamp, `${clock.now()}\n`, { mode: 0o600 });
    const { cleanUp } = await import("./clean-up.ts");
    const startedAt = clock.monotonic();
    const result = cleanUp({ home, days, now: clock.now(), hasTime: () => clock.monotonic() - startedAt < LIMIT_MS });
    if (!result.finished) rmSync(stamp, { force: true });
    return result;
  } catch {
    // Keeping old files for another day does no harm.
    return undefined;
  }
}

function isToday(stamp: string, now: number): boolean {
  try {
    return Math.abs(now - Number(readFileSync(stamp, "utf8"))) < DAY_MS;
  } catch {
    return false;
  }
}
