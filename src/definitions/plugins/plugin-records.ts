import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, parseJsonc, writeAtomically } from "../../lib/index.ts";
import { isPluginName } from "./manifest.ts";

/** The record of an installed plugin. */
export interface PluginRecord {
  /** The path or URL it was installed from. */
  readonly source: string;
  /** Hash of its content when it was installed or enabled. Other content is not approved. */
  readonly hash: string;
  readonly enabled: boolean;
}

export interface PluginRecords {
  readonly records: ReadonlyMap<string, PluginRecord>;
  /** Explains why the file can't be read. In that case no plugin is used. */
  readonly problem?: string | undefined;
}

export function readPluginRecords(home: string): PluginRecords {
  const file = recordsFile(home);
  try {
    const parsed = parseJsonc(readFileSync(file, "utf8"));
    if (!("error" in parsed)) return recordsOf(parsed.value, file);
    const { line, column, message } = parsed.error;
    return { records: new Map(), problem: `${file}:${line}:${column} can't be read: ${message}.` };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { records: new Map() };
    return { records: new Map(), problem: `${file} can't be read: ${errorCode(error)}.` };
  }
}

export async function writePluginRecords(home: string, records: ReadonlyMap<string, PluginRecord>): Promise<void> {
  const plugins = Object.fromEntries([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeAtomically(recordsFile(home), `${JSON.stringify({ version: 1, plugins }, null, 2)}\n`);
}

function recordsFile(home: string): string {
  return join(home, "plugins.json");
}

function recordsOf(value: unknown, file: string): PluginRecords {
  const { plugins } = (value ?? {}) as { plugins?: unknown };
  if (typeof plugins !== "object" || plugins === null) {
    return { records: new Map(), problem: `${file} has no object "plugins".` };
  }
  const records = new Map<string, PluginRecord>();
  for (const [name, record] of Object.entries(plugins as Record<string, Partial<PluginRecord> | null>)) {
    if (!isPluginName(name) || typeof record?.hash !== "string") continue;
    records.set(name, { source: String(record.source ?? ""), hash: record.hash, enabled: record.enabled === true });
  }
  return { records };
}
