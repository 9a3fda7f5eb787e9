import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { ResolvedPath } from "../protocol/index.ts";
import { codeOf, kindOf } from "./file-stat.ts";

/** As many links as Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * Says where a path really leads. A path that can't be followed (control characters, a link loop, a directory that may
 * not be searched) has kind `other` and the empty string as `real`: no root contains it and no method opens it.
 */
export function resolvePath(requested: string, place: { readonly root: string; readonly home: string }): ResolvedPath {
  const absolute = resolve(place.root, expandHome(requested, place.home));
  const real = requested === "" || hasControls(requested) ? undefined : followLinks(absolute, MAX_LINKS);
  if (real === undefined) return { requested, absolute, real: "", kind: "other" };
  const stat = lstatOrUndefined(real);
  return { requested, absolute, real, kind: stat ? kindOf(stat) : "missing" };
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

function followLinks(path: string, linksLeft: number): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
  }
  const parent = dirname(path);
  if (parent === path) return path;
  const realParent = followLinks(parent, linksLeft);
  if (realParent === undefined) return undefined;
  const place = join(realParent, basename(path));
  const target = linkTarget(place);
  if (target === undefined) return place;
  // A link to nothing: a write through it would land where it points, so that is what must be judged.
  return linksLeft === 0 ? undefined : followLinks(resolve(realParent, target), linksLeft - 1);
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function lstatOrUndefined(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
