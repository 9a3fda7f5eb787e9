import { lstatSync } from "node:fs";

/**
 * What a confined command sees at a path and below it. `private`: the temporary directory of its own. `hidden`: an empty
 * directory or file in place of what is there.
 */
export type MountKind = "writable" | "readOnly" | "private" | "hidden" | "hiddenFile";

export interface Mount {
  /** Absolute real path. */
  readonly path: string;
  readonly kind: MountKind;
}

/** Where two of a kind meet at one path, the later of these holds: a workspace may be anywhere, also where keys are kept. */
const strength: readonly MountKind[] = ["private", "hidden", "hiddenFile", "readOnly", "writable"];

/** The arguments for bubblewrap. The deeper path holds, so a directory can be shown again below a hidden one. */
export function mountArguments(mounts: readonly Mount[], scratch: string): readonly string[] {
  const [base, ordered] = splitRoot(orderMounts(mounts));
  const hidden = ordered.filter(({ kind }) => kind === "hidden");
  return [
    ...[base, "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...ordered.flatMap(({ path, kind }) => oneMount(path, kind, scratch)),
    // At last: directories are still made in them for what is shown again below.
    ...hidden.flatMap(({ path }) => ["--remount-ro", path]),
  ];
}

/** Whoever works in the root itself may write there, but must still not see the processes and devices of the machine. */
function splitRoot(ordered: readonly Mount[]): readonly [string, readonly Mount[]] {
  const isRootWritable = ordered.some(({ path, kind }) => path === "/" && kind === "writable");
  return [isRootWritable ? "--bind" : "--ro-bind", ordered.filter(({ path }) => !systemPlaces.includes(path))];
}

const systemPlaces = ["/", "/dev", "/proc"];

function oneMount(path: string, kind: MountKind, scratch: string): readonly string[] {
  switch (kind) {
    case "writable":
      return ["--bind-try", path, path];
    case "readOnly":
      return ["--ro-bind-try", path, path];
    case "private":
      return ["--bind", scratch, path];
    case "hidden":
      return ["--tmpfs", path];
    case "hiddenFile":
      return ["--ro-bind", "/dev/null", path];
  }
}

/** Parents before children, one for each path. */
export function orderMounts(mounts: readonly Mount[]): readonly Mount[] {
  const strongest = new Map<string, Mount>();
  for (const mount of mounts) {
    const before = strongest.get(mount.path);
    if (!before || strength.indexOf(mount.kind) > strength.indexOf(before.kind)) strongest.set(mount.path, mount);
  }
  return [...strongest.values()].sort((left, right) => depth(left.path) - depth(right.path));
}

/** The mount that decides about a path; undefined: it is as it is outside, and can't be written. */
export function mountAt(path: string, ordered: readonly Mount[]): Mount | undefined {
  return ordered.findLast((mount) => isWithin(path, mount.path));
}

export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function depth(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}

/** The device and inode of what is at a path, links not followed; undefined: nothing, or nothing that can be looked at. */
export function entryIdentity(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev}:${stat.ino}`;
  } catch {
    return undefined;
  }
}

/**
 * A program to start first in the sandbox: it starts the command if every mount is where and what it should be. Paths
 * in the workspace are given to bubblewrap by name, and a command that still runs could swap one of them for a link in
 * the moment between our look and its mount; the mount would land, or come from, anywhere.
 */
export function verifyMounts(mounts: readonly Mount[]): readonly string[] {
  const known = mounts.flatMap(({ path, kind }) => {
    const identity = kind === "writable" || kind === "readOnly" ? entryIdentity(path) : undefined;
    return identity === undefined || path === "/" ? [] : [{ path, identity }];
  });
  const points = known.map(({ path }) => quoted(escaped(path))).join(" ");
  const paths = known.map(({ path }) => quoted(path)).join(" ");
  const identities = quoted(known.map(({ identity }) => identity).join("\n"));
  // Not by `read`, which takes the table byte by byte.
  const script = `
refuse() { echo 'The sandbox was not set up: a directory changed at that moment. Run the command again.' >&2; exit 125; }
points="
$(cut -d' ' -f5 /proc/self/mountinfo)
"
for point in ${points}; do case "$points" in *"
$point
"*) ;; *) refuse ;; esac; done
[ "$(stat -c %d:%i ${paths})" = ${identities} ] || refuse
exec "$@"`;
  return ["/bin/sh", "-c", script, "sh"];
}

/** As the kernel writes paths in its table of mounts. */
function escaped(path: string): string {
  return path.replace(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
