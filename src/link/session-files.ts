import { mkdirSync, readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { deleteTreeSync } from "../lib/index.ts";
import type { SessionId } from "../protocol/index.ts";
import type { OpenRequest } from "./protocol.ts";

/** Directories on a worker's machine with its sessions' temporary files and command output. */
export interface SessionFiles {
  /** Returns the directory for a session that is being opened; undefined if the session uses a temporary directory. */
  open(session: OpenRequest["options"]): string | undefined;
  /** Lists the sessions whose directories have not been opened since the given time, in milliseconds since 1970. */
  unusedSince(time: number): readonly SessionId[];
  remove(sessionId: SessionId): void;
}

/** Creates the directories `NAME@SESSION` in a directory that several workers may share. */
export function createSessionFiles(directory: string, name: string): SessionFiles {
  const prefix = `${name}@`;
  const pathOf = (sessionId: SessionId): string => join(directory, `${prefix}${sessionId}`);
  return {
    open: ({ sessionId }) => {
      const path = pathOf(sessionId);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      const now = new Date();
      utimesSync(path, now, now);
      return path;
    },
    unusedSince: (time) =>
      readdirSync(directory)
        .filter((each) => each.startsWith(prefix) && statSync(join(directory, each)).mtimeMs < time)
        .map((each) => each.slice(prefix.length)),
    remove: (sessionId) => deleteTreeSync(pathOf(sessionId)),
  };
}
