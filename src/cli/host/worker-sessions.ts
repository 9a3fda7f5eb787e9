import { readdirSync } from "node:fs";
import { join } from "node:path";
import { findRequest, findSession, listSessions, waitingRequests } from "../../app/index.ts";
import { plural } from "../../lib/index.ts";
import { readOwnServer } from "./own-server.ts";

/**
 * Says how many sessions on workers, or requests in these sessions, belong to the server that uses this state
 * directory, because only the server can use them. Returns undefined if no sessions or requests belong to workers.
 */
export function unlistedText(home: string, what: "sessions" | "requests"): string | undefined {
  const isRequests = what === "requests";
  const countIn = (place: { readonly home: string }): number =>
    (isRequests ? waitingRequests(place) : listSessions(place)).length;
  const count = workerHomes(home).reduce((sum, each) => sum + countIn({ home: each }), 0);
  if (count === 0) return undefined;
  const are = count === 1 ? "is" : "are";
  const said = isRequests
    ? `${plural(count, "request")} ${are} waiting in workers' sessions`
    : `${plural(count, "worker session")} ${are} not listed`;
  return `${said}: ${useServer(home)}`;
}

/** Says how to use a worker's session. Returns undefined if no worker has a session with this id. */
export function sessionOfWorker(home: string, id: string): string | undefined {
  const isThere = workerHomes(home).some((each) => findSession({ home: each, id }).kind !== "none");
  return isThere ? `It is a worker's session: ${useServer(home)}` : undefined;
}

/** Says how to answer a request from a worker's session. Returns undefined if no such request is waiting. */
export function requestOfWorker(home: string, request: string): string | undefined {
  const isThere = workerHomes(home).some(
    (each) => findRequest(waitingRequests({ home: each }), request).kind !== "none",
  );
  return isThere ? `It is a request from a worker's session: ${useServer(home)}` : undefined;
}

function useServer(home: string): string {
  const own = readOwnServer(home);
  return own === undefined ? "start `retinue serve`, then add --server URL." : `add --server ${own.url}`;
}

/** Returns the state directories that the server keeps, one for each worker. */
function workerHomes(home: string): readonly string[] {
  try {
    return readdirSync(join(home, "remote")).map((name) => join(home, "remote", name));
  } catch {
    return [];
  }
}
