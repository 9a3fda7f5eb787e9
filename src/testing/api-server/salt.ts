import { createHash } from "node:crypto";
import type { RecordedRequest } from "./types.ts";

/**
 * What makes a request's ids its own: the same body sent for the n-th time. So ids repeat in a second run of the same
 * script, but neither between agents that ask the same, nor after a restart of the server in the middle of a session.
 */
export function createSaltMaker(light: boolean): (request: RecordedRequest) => string {
  if (light) return (request) => `${request.ordinal}`;
  const seen = new Map<string, number>();
  return (request) => {
    const hash = createHash("sha1").update(request.rawBody).digest("hex");
    const times = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, times);
    return `${hash} ${times}`;
  };
}
