import { lstatSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { statPath } from "./files/file-stat.ts";
import { repositoryRoot } from "./git-state.ts";

/**
 * Returns the absolute paths of the files that git tracks in the repository of a directory, without running git. Returns
 * undefined if the index can't be understood, so that any file may be tracked.
 */
export function trackedPaths(directory: string): readonly string[] | undefined {
  const top = repositoryRoot(directory);
  const index = top && indexOf(top);
  if (top === undefined || index === undefined) return [];
  try {
    const { kind, version } = statPath(index);
    if (kind === "missing") return [];
    if (known?.index !== index || known.version !== version)
      known = { index, version, paths: namesIn(readFileSync(index))?.map((name) => join(top, name)) };
    return known.paths;
  } catch {
    return undefined;
  }
}

/** The index that was read last. */
let known:
  | { readonly index: string; readonly version: string; readonly paths: readonly string[] | undefined }
  | undefined;

function indexOf(top: string): string | undefined {
  const place = join(top, ".git");
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return join(place, "index");
  const [, elsewhere] = /^gitdir: (.+)$/m.exec(readFileSync(place, "utf8")) ?? [];
  return elsewhere && join(resolve(dirname(place), elsewhere.trim()), "index");
}

const EXTENDED = 0x4000;

/**
 * Reads the names in an index of version 2, 3 or 4. The size of hashes, which is not recorded, is found by trying.
 * https://git-scm.com/docs/index-format
 */
function namesIn(bytes: Buffer): readonly string[] | undefined {
  if (bytes.length < 12 || bytes.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const version = bytes.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  for (const hashBytes of [20, 32]) {
    const names = namesWith(bytes, { version, hashBytes });
    if (names !== undefined) return names;
  }
  return undefined;
}

interface Layout {
  readonly version: number;
  readonly hashBytes: number;
}

function namesWith(bytes: Buffer, { version, hashBytes }: Layout): readonly string[] | undefined {
  const names: string[] = [];
  const count = bytes.readUInt32BE(8);
  let at = 12;
  let last = "";
  for (let index = 0; index < count; index += 1) {
    const start = at;
    at += 40 + hashBytes;
    if (at + 2 > bytes.length) return undefined;
    const flags = bytes.readUInt16BE(at);
    at += version >= 3 && (flags & EXTENDED) !== 0 ? 4 : 2;
    let kept = "";
    if (version === 4) {
      const removed = numberAt(bytes, at);
      if (removed === undefined || removed.value > last.length) return undefined;
      kept = last.slice(0, last.length - removed.value);
      at = removed.end;
    }
    const end = bytes.indexOf(0, at);
    if (end === -1) return undefined;
    last = kept + bytes.toString("latin1", at, end);
    // The length in the flags shows whether the layout is right.
    if (last.length === 0 || (flags & 0xfff) !== Math.min(last.length, 0xfff)) return undefined;
    names.push(Buffer.from(last, "latin1").toString("utf8"));
    at = version === 4 ? end + 1 : start + Math.ceil((end + 1 - start) / 8) * 8;
  }
  return isComplete(bytes, at, hashBytes) ? names : undefined;
}

/** Reads a number of variable length, as in git's packs with deltas. */
function numberAt(bytes: Buffer, from: number): { readonly value: number; readonly end: number } | undefined {
  let at = from;
  let byte = bytes[at++] ?? 0;
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0 && at < bytes.length) {
    byte = bytes[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return at > bytes.length ? undefined : { value, end: at };
}

/** Returns whether only extensions follow, none of which says that further names are in another file. */
function isComplete(bytes: Buffer, from: number, hashBytes: number): boolean {
  let at = from;
  while (at + 8 <= bytes.length - hashBytes) {
    if (bytes.toString("latin1", at, at + 4) === "link") return false;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === bytes.length - hashBytes;
}
