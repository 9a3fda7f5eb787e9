import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FileCache, isRecord, writeAtomically } from "../../lib/index.ts";
import type { SessionChoices } from "./open-served.ts";

/** What a restarted server must know about a session. Stored with the session's files. */
export interface ServedRecord {
  readonly v: 1;
  readonly choices: SessionChoices;
  /** Whether the server had the session open. If so, the session continues automatically. */
  readonly open: boolean;
  /** Known cost of all agents when the server last closed the session, in US dollars. */
  readonly costUsd?: number | undefined;
}

/** Reads the record of a session, by the path of its transcript. Undefined if the server never opened the session. */
export function readRecord(transcriptPath: string, cache = new FileCache()): ServedRecord | undefined {
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

export async function writeRecord(transcriptPath: string, record: ServedRecord): Promise<void> {
  await writeAtomically(pathOf(transcriptPath), `${JSON.stringify(record)}\n`);
}

function pathOf(transcriptPath: string): string {
  return join(dirname(transcriptPath), basename(transcriptPath, ".jsonl"), "served.json");
}
