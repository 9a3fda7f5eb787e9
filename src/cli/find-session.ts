import { findSession, latestSessionId, listSessions, type SessionSummary, UserError } from "../app/index.ts";

export interface SessionWish {
  readonly home: string;
  readonly cwd: string;
  readonly resume?: string;
  readonly continueLatest: boolean;
}

/** The id of the session to go on with; undefined when a new one is wanted. */
export function chooseSession({ home, cwd, resume, continueLatest }: SessionWish): string | undefined {
  if (continueLatest) {
    const latest = latestSessionId({ home, cwd });
    if (latest === undefined) throw problem(`There is no session of ${cwd} to continue`, `Start one: retinue -p "…".`);
    return latest;
  }
  if (resume === undefined) return undefined;
  const session = sessionByPrefix({ home, prefix: resume });
  // Elsewhere the same words would act on other files.
  if (session.cwd !== undefined && session.cwd !== cwd) {
    throw problem(`The session ${session.id} belongs to ${session.cwd}`, `Add: --cwd '${session.cwd}'`);
  }
  return session.id;
}

/** Throws a `UserError` that lists what the prefix may have meant. */
export function sessionByPrefix({ home, prefix }: { home: string; prefix: string }): SessionSummary {
  const found = findSession({ home, prefix });
  if (found.kind === "one") return found.session;
  if (found.kind === "many") {
    const shown = found.ids.slice(0, 8).join(", ");
    const more = found.ids.length > 8 ? ` and ${found.ids.length - 8} more` : "";
    throw problem(`${found.ids.length} sessions begin with "${prefix}": ${shown}${more}`, "Give more of the id.");
  }
  const newest = listSessions({ home })[0];
  const cure = newest ? `The newest is ${newest.id} (retinue sessions list --all).` : "There are no sessions yet.";
  throw problem(`No session id begins with "${prefix}"`, cure);
}

function problem(message: string, cure: string): UserError {
  return new UserError(message, { code: "session", cure, exitCode: 2 });
}
