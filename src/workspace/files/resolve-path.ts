import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { ResolvedPath } from "../../protocol/index.ts";
import { codeOf, kindOf } from "./file-stat.ts";

/** As many links as Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * Says where a path really leads. A path that can't be followed (control characters, a link loop, a directory that may
 * not be searched) has kind `other` and the empty string as `real`: no root contains it and no method opens it.
 */
export function resolvePath(requested: string, place: { readonly root: string; readonly home: string }): ResolvedPath {
  const absolute = resolve(place.root, expandHome(requested, place.home));
  const found = requested === "" || hasControls(requested) ? undefined : followLinks(absolute, MAX_LINKS);
  return { requested, absolute, ...(found ?? { real: "", kind: "other" }) };
}

export function hasControls(path: string): boolean {
  for (let index = 0; index < path.length; index++) {
    const code = path.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  }
  return false;
}

function expandHome(path: string, home: string): string {
  if (path === "~") return home;
  return path.startsWith("~/") ? join(home, path.slice(2)) : path;
}

type Found = Pick<ResolvedPath, "real" | "kind">;

/** Undefined where nobody can follow it. Asks before it looks closer: an exception costs more than all the rest. */
function followLinks(path: string, linksLeft: number): Found | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return missingAt(path, linksLeft);
    const real = realpathSync.native(path);
    return { real, kind: kindOf(real === path ? stat : lstatSync(real)) };
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
  }
  // A link to nothing: a write through it would land where it points, so that is what must be judged.
  const target = linkTarget(path);
  if (target === undefined) return missingAt(path, linksLeft);
  const parent = followLinks(dirname(path), linksLeft);
  return parent === undefined || linksLeft === 0 ? undefined : followLinks(resolve(parent.real, target), linksLeft - 1);
}

function missingAt(path: string, linksLeft: number): Found | undefined {
  const parent = dirname(path);
  if (parent === path) return { real: path, kind: "missing" };
  const above = followLinks(parent, linksLeft);
  return above && { real: join(above.real, basename(path)), kind: "missing" };
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
