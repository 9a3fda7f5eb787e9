import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../lib/index.ts";

/** This user's server on this machine. */
export interface OwnServer {
  readonly url: string;
  /** Token that can't approve calls. */
  readonly token: string;
}

/** Returns the server that is recorded in a state directory, and that may no longer be running. */
export function readOwnServer(home: string): OwnServer | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(home, "server.json"), "utf8"));
    if (!isRecord(value) || typeof value["url"] !== "string" || typeof value["token"] !== "string") return undefined;
    return URL.canParse(value["url"]) ? { url: value["url"], token: value["token"] } : undefined;
  } catch {
    return undefined;
  }
}

/** A running server, and whether it serves a directory. */
export interface FoundServer {
  readonly url: string;
  readonly serves: boolean;
}

/** Asks the server of a state directory whether it serves a directory. Returns undefined if no server is running. */
export async function findOwnServer(home: string, cwd: string): Promise<FoundServer | undefined> {
  const own = readOwnServer(home);
  if (own === undefined) return undefined;
  const { createClient } = await import("../../client/index.ts");
  const workers = await createClient(own)
    .workers()
    .catch(() => undefined);
  return workers && { url: own.url, serves: workers.some(({ root }) => root === cwd) };
}
