import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeError, errorCode, parseJsonc, UserError } from "../lib/index.ts";
import type { Settings } from "../protocol/index.ts";
import { checkSettings } from "./check-settings.ts";

export interface LoadedSettings {
  readonly settings: Settings;
  /** The file they came from; undefined when there is none. */
  readonly file?: string;
  /** Things worth one line to the user: unknown keys, an empty file. */
  readonly notices: readonly string[];
}

/** Reads the user's settings. A file somebody named must be there; the default one may be missing. */
export function loadSettings({ home, file }: { home: string; file?: string }): LoadedSettings {
  const path = file ?? join(home, "settings.json");
  const text = readSettings(path, file !== undefined);
  if (text === undefined) return { settings: {}, notices: [] };
  if (text.trim() === "") return { settings: {}, file: path, notices: [`${path} is empty; using defaults.`] };
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, column, message } = parsed.error;
    throw broken(`${path}:${line}:${column}: ${message}`, "Repair the file, or move it away to run with defaults.");
  }
  const { problems, unknown } = checkSettings(parsed.value);
  const first = problems[0];
  if (first !== undefined) {
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
    throw broken(`${path}: ${first}${more}`, "Correct the value, or remove the key.");
  }
  const notices = unknown.map((key) => `${path}: unknown key "${key}" has no effect.`);
  return { settings: parsed.value as unknown as Settings, file: path, notices };
}

function readSettings(path: string, named: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT" && !named) return undefined;
    if (errorCode(error) === "ENOENT") {
      throw broken(`There is no settings file ${path}.`, "Check the path given with --settings.");
    }
    throw broken(`The settings file ${path} can't be read: ${describeError(error)}`, "Check its permissions.");
  }
}

function broken(message: string, cure: string): UserError {
  return new UserError(message, { code: "settings", cure, exitCode: 2 });
}
