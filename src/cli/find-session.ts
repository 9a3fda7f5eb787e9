import { findSession, listSessions, type SessionSummary } from "../app/index.ts";
import { UserError } from "../lib/index.ts";
import { usageError } from "./read-options.ts";

/** Finds a session by its id or a prefix of it. Throws a `UserError` that lists the candidates. */
export function sessionByPrefix({ home, prefix }: { home: string; prefix: string }): SessionSummary {
  const found = findSession({ home, prefix });
  if (found.kind === "one") return found.session;
  if (found.kind === "many") {
    const shown = found.ids.slice(0, 8).join(", ");
    const more = found.ids.length > 8 ? ` and ${found.ids.length - 8} more` : "";
    throw sessionError(`${found.ids.length} sessions begin with "${prefix}": ${shown}${more}`, "Give more of the id.");
  }
  const newest = listSessions({ home })[0];
  const cure = newest ? `The newest is ${newest.id} (retinue sessions list --all).` : "There are no sessions yet.";
  throw sessionError(`No session id begins with "${prefix}"`, cure);
}

/** Parses `SESSION[/AGENT]`; the agent can also be given by the option `--agent`. */
export function parseSessionAgent(
  argument: string,
  option: string | undefined,
): { readonly id: string; readonly agent: string | undefined } {
  const at = argument.indexOf("/");
  const suffix = at < 0 ? undefined : argument.slice(at + 1);
  if (suffix === "") throw usageError(`"${argument}" names no agent`, "Write SESSION/AGENT, or leave the slash out.");
  if (suffix !== undefined && option !== undefined) {
    throw usageError(`"${argument}" and --agent both name an agent`, "Use one of them.");
  }
  const id = at < 0 ? argument : argument.slice(0, at);
  if (id === "") throw usageError(`"${argument}" names no session`, '"retinue sessions list" shows them.');
  return { id, agent: suffix ?? option };
}

export function sessionError(message: string, cure: string): UserError {
  return new UserError(message, { code: "session", cure, exitCode: 2 });
}
