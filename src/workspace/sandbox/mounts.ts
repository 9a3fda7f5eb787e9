import { lstatSync, realpathSync, type Stats } from "node:fs";
import { isWithin } from "../../lib/index.ts";

/**
 * The view that a confined command has of a path and everything below it. `private`: the session's temporary directory.
 * `empty`: a temporary directory for this command only. `hidden`: an empty directory. `hiddenFile`: an empty file.
 */
export type MountKind = "writable" | "readOnly" | "private" | "empty" | "hidden" | "hiddenFile";

export interface Mount {
  /** Absolute real path. */
  readonly path: string;
  readonly kind: MountKind;
}

export interface MountSources {
  /** The session's temporary directory. */
  readonly scratch: string;
  /** Returns the file that is shown in place of a hidden file. */
  emptyFile(hidden: string): string;
}

/**
 * Precedence of mounts at the same path, lowest first. `writable` has the highest precedence, because a workspace may
 * be anywhere, even where keys are stored.
 */
const strength: readonly MountKind[] = ["private", "empty", "hidden", "hiddenFile", "readOnly", "writable"];

/**
 * Returns the arguments for bubblewrap. Deeper paths take precedence, so a directory can be shown below a hidden one.
 */
export function mountArguments(mounts: readonly Mount[], sources: MountSources): readonly string[] {
  const [base, ordered] = splitRoot(orderMounts(mounts));
  const hidden = ordered.filter(({ kind }) => kind === "hidden");
  return [
    // Otherwise, a command that runs as root could change kernel settings.
    ...[base, "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"],
    ...ordered.flatMap(({ path, kind }) => oneMount({ path, kind }, sources)),
    // These directories are made read-only last, because bubblewrap creates the mount points of deeper mounts in them.
    ...hidden.flatMap(({ path }) => ["--remount-ro", path]),
  ];
}

/** Handles a workspace at `/`: the workspace is writable, but the machine's processes and devices stay hidden. */
function splitRoot(ordered: readonly Mount[]): readonly [string, readonly Mount[]] {
  const isRootWritable = ordered.some(({ path, kind }) => path === "/" && kind === "writable");
  return [isRootWritable ? "--bind" : "--ro-bind", ordered.filter(({ path }) => !systemPlaces.includes(path))];
}

const systemPlaces = ["/", "/dev", "/proc"];

function oneMount({ path, kind }: Mount, { scratch, emptyFile }: MountSources): readonly string[] {
  switch (kind) {
    case "writable":
      return ["--bind-try", path, path];
    case "readOnly":
      return ["--ro-bind-try", path, path];
    case "private":
      return ["--bind", scratch, path];
    case "empty":
    case "hidden":
      return ["--tmpfs", path];
    case "hiddenFile":
      return ["--ro-bind", emptyFile(path), path];
  }
}

/** Sorts parents before children and keeps one mount for each path. */
export function orderMounts(mounts: readonly Mount[]): readonly Mount[] {
  const strongest = new Map<string, Mount>();
  for (const mount of mounts) {
    const before = strongest.get(mount.path);
    if (!before || strength.indexOf(mount.kind) > strength.indexOf(before.kind)) strongest.set(mount.path, mount);
  }
  return [...strongest.values()].sort((left, right) => depth(left.path) - depth(right.path));
}

/**
 * Returns the mount that applies to a path; undefined if the path is visible and read-only, like the rest of the
 * system.
 */
export function mountAt(path: string, ordered: readonly Mount[]): Mount | undefined {
  return ordered.findLast((mount) => isWithin(path, mount.path));
}

function depth(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}

/**
 * Returns the device and inode at a path without following symlinks; undefined if nothing is there or it can't be
 * examined.
 */
export function entryIdentity(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}`;
  } catch {
    return undefined;
  }
}

/** Returns the real paths of the given paths that exist. */
export function existing(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    // Most of the paths do not exist, and an exception costs much more than this call.
    if (entryAt(path) === undefined) return [];
    try {
      return [realpathSync.native(path)];
    } catch {
      return [];
    }
  });
}

export function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * Returns shell code that exits the shell unless every mount is correct. Bubblewrap receives the paths in the workspace
 * by name. Between Retinue's check and the mount, a command that is still running could replace one of them with a
 * symlink, so that something else would be mounted.
 */
export function verifyMounts(mounts: readonly Mount[]): string {
  const known = mounts.flatMap(({ path, kind }) => {
    const identity = kind === "writable" || kind === "readOnly" ? entryIdentity(path) : undefined;
    return identity === undefined || path === "/" ? [] : [{ path, identity }];
  });
  if (known.length === 0) return "";
  const points = known.map(({ path }) => quoted(escaped(path))).join(" ");
  const paths = known.map(({ path }) => quoted(path)).join(" ");
  const identities = quoted(known.map(({ identity }) => identity).join("\n"));
  // The script avoids `read`, which would read the mount table byte by byte.
  return `
refuse() { echo 'The sandbox could not be set up because a directory changed at that moment. Run the command again.' >&2; exit 125; }
points="
$(cut -d' ' -f5 /proc/self/mountinfo)
"
for point in ${points}; do case "$points" in *"
$point
"*) ;; *) refuse ;; esac; done
[ "$(stat -c %d:%i ${paths})" = ${identities} ] || refuse`;
}

/** Escapes a path as the kernel does in its mount table. */
function escaped(path: string): string {
  return path.replace(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
