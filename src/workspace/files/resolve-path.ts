import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isWithin } from "../../lib/index.ts";
import type { ResolvedPath } from "../../protocol/index.ts";
import { codeOf, hardLinkOf, kindOf } from "./file-stat.ts";

/** Maximum number of symlinks that Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * Resolves a path. A path that can't be followed (control characters, a symlink loop, a directory without search
 * permission) has kind `other` and an empty `real` path, which is within no root and can't be opened.
 */
export function resolvePath(requested: string, place: { readonly root: string; readonly home: string }): ResolvedPath {
  const absolute = resolve(place.root, expandHome(requested, place.home));
  const found = requested === "" || hasControls(requested) ? undefined : followLinks(absolute, MAX_LINKS);
  if (found === undefined) return { requested, absolute, real: "", kind: "other" };
  const isPlain = found.real === absolute || isWithin(absolute, place.root);
  return { requested, absolute, ...found, inWorkspace: isPlain ? undefined : pathInWorkspace(absolute, place.root) };
}

/** Replaces the part of a path that leads to the workspace's root through symlinks. */
function pathInWorkspace(absolute: string, root: string): string | undefined {
  for (let end = absolute.indexOf("/", 1); end !== -1; end = absolute.indexOf("/", end + 1))
    if (realPath(absolute.slice(0, end)) === root) return root + absolute.slice(end);
  return realPath(absolute) === root ? root : undefined;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
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

type Found = Pick<ResolvedPath, "real" | "kind" | "hardLink">;

/**
 * Follows the symlinks in a path. Returns undefined if the path can't be followed. Checks for existence first, because
 * exceptions are slow.
 */
function followLinks(path: string, linksLeft: number): Found | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return missingAt(path, linksLeft);
    const real = realpathSync.native(path);
    const target = real === path ? stat : lstatSync(real);
    return { real, kind: kindOf(target), hardLink: hardLinkOf(target) };
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
  }
  // A write through a dangling symlink would create its target, so it is the target that must be authorized.
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
