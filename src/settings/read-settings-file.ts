import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { sep } from "node:path";
import { describeError, errorCode, formatBytes } from "../lib/index.ts";
import type { SettingsFile } from "./settings-files.ts";

export type FileText = { readonly text: string } | { readonly problem: string } | undefined;

/** More than any hand has written; a larger file is a mistake or an attack. */
const LARGEST_SETTINGS = 1_000_000;

/** Undefined where there is no such file. Never throws, never waits for a pipe, never reads through a link out of a project. */
export function readSettingsFile({ path, named, inside }: SettingsFile): FileText {
  try {
    if (inside !== undefined && leavesProject(path, inside)) {
      return { problem: `${path} is a link that leads out of the project. Put the file itself there.` };
    }
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readOpen(descriptor, path);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const isMissing = errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";
    if (isMissing && !named) return undefined;
    if (isMissing) return { problem: `There is no settings file ${path}. Check the path given with --settings.` };
    return { problem: `The settings file ${path} can't be read: ${describeError(error)}` };
  }
}

function readOpen(descriptor: number, path: string): FileText {
  const facts = fstatSync(descriptor);
  if (!facts.isFile()) return { problem: `The settings file ${path} is not a regular file. Put a file there.` };
  if (facts.size > LARGEST_SETTINGS) {
    const limit = `${formatBytes(facts.size)}, and ${formatBytes(LARGEST_SETTINGS)} is the limit`;
    return { problem: `The settings file ${path} has ${limit}. Make it shorter.` };
  }
  const bytes = readFileSync(descriptor);
  // Letters that can't be decoded would make a rule that matches nothing.
  if (!isUtf8(bytes)) return { problem: `The settings file ${path} is not UTF-8 text. Save it as UTF-8.` };
  return { text: bytes.toString("utf8") };
}

function leavesProject(path: string, inside: string): boolean {
  const real = realpathSync.native(path);
  const root = realpathSync.native(inside);
  return !real.startsWith(root.endsWith(sep) ? root : root + sep);
}
