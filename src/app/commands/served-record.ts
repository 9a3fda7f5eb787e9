import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FileCache, isRecord, writeAtomically } from "../../lib/index.ts";
import type { NewSession } from "../../protocol/index.ts";

/**
 * Options chosen by the client that started a session. They also apply when the session is resumed, except that a
 * permission mode that was changed in the meantime is kept.
 */
export interface SessionChoices extends Omit<NewSession, "prompt" | "worker"> {
  /** Set for a session that no person started. Its runs wait for background agents. */
  readonly unattended?: true | undefined;
}

/** Information that a server needs to continue a session. Stored with the session's files. */
export interface ServedRecord {
  readonly v: 1;
  readonly choices: SessionChoices;
  /** Whether the server had the session open. If so, the session continues automatically. */
  readonly open: boolean;
  /** Known cost of all agents when a server closed the session, in US dollars. Absent if the server was killed. */
  readonly costUsd?: number | undefined;
  /** Set if `costUsd` includes the maximum cost of requests whose responses were lost. */
  readonly isCostAtMost?: true | undefined;
}

/** Reads a session's record. Returns undefined if the server never opened the session. */
export function readServedRecord(transcriptPath: string, cache = new FileCache()): ServedRecord | undefined {
  const path = pathOf(transcriptPath);
  return cache.get(path, () => readFile(path));
}

function readFile(path: string): ServedRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRecord(value) && value["v"] === 1 && isRecord(value["choices"])
      ? (value as unknown as ServedRecord)
      : undefined;
  } catch {
    return undefined;
  }
}

export async function writeServedRecord(transcriptPath: string, record: ServedRecord): Promise<void> {
  await writeAtomically(pathOf(transcriptPath), `${JSON.stringify(record)}\n`);
}

function pathOf(transcriptPath: string): string {
  return join(dirname(transcriptPath), basename(transcriptPath, ".jsonl"), "served.json");
}
