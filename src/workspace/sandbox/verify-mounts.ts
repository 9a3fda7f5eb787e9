import { entryIdentity } from "./entry-identity.ts";
import type { Mount } from "./mounts.ts";

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
