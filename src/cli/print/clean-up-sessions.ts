import { cleanUpDaily, type Settings, stateDirectory } from "../../app/index.ts";
import { plural } from "../../lib/index.ts";

const DEFAULT_DAYS = 30;

/** Deletes old sessions if that is due; a sentence if there is anything to say about it. */
export async function cleanUpSessions({
  cleanupPeriodDays: days = DEFAULT_DAYS,
}: Settings): Promise<string | undefined> {
  const cleaned = await cleanUpDaily({ home: stateDirectory(process.env), days });
  const count = cleaned?.removed.length ?? 0;
  if (count === 0) return undefined;
  const unused = `not used for ${plural(days, "day")}`;
  return `${plural(count, "session")} ${unused} ${count === 1 ? "was" : "were"} deleted (cleanupPeriodDays in settings).`;
}
