import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../ports/index.ts";
import type { CleanUp } from "./clean-up.ts";

export interface DailyCleanUp {
  readonly home: string;
  /** 0 = never. */
  readonly days: number;
  readonly clock: Clock;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Whoever waits for the end of a command waits for this too. */
const LIMIT_MS = 500;

/**
 * `cleanUp`, no more than once a day and not for long; the next one goes on with the rest. Undefined: not due, and then
 * nothing is loaded for it. Never rejects.
 */
export async function cleanUpDaily({ home, days, clock }: DailyCleanUp): Promise<CleanUp | undefined> {
  const stamp = join(home, "cleaned-up");
  if (!(days > 0) || isToday(stamp, clock.now())) return undefined;
  try {
    // First: one that dies in the middle does not begin again with every command.
    writeFileSync(stamp, `${clock.now()}\n`, { mode: 0o600 });
    const { cleanUp } = await import("./clean-up.ts");
    const startedAt = clock.monotonic();
    const result = cleanUp({ home, days, now: clock.now(), hasTime: () => clock.monotonic() - startedAt < LIMIT_MS });
    if (!result.finished) rmSync(stamp, { force: true });
    return result;
  } catch {
    // Old files that stay for another day harm nobody.
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
