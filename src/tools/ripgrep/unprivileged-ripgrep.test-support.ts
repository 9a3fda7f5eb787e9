import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findRipgrep } from "./find-ripgrep.ts";

const withoutOverride = ["--bounding-set=-dac_override,-dac_read_search"];
const isRoot = process.getuid?.() === 0;

/**
 * Returns whether ripgrep can be made to respect file modes here. Root ignores them, unless setpriv drops that
 * capability.
 */
export const canDropPrivileges = !isRoot || spawnSync("setpriv", [...withoutOverride, "true"]).status === 0;

/** Creates a program in the directory that runs the real ripgrep without root's right to ignore file modes. */
export function createUnprivilegedRipgrep(directory: string): string {
  const location = findRipgrep(process.env);
  if ("missing" in location) throw new Error(location.missing);
  if (!isRoot) return location.program;
  const program = join(directory, "unprivileged-ripgrep");
  writeFileSync(program, `#!/bin/sh\nexec setpriv ${withoutOverride.join(" ")} '${location.program}' "$@"\n`);
  chmodSync(program, 0o755);
  return program;
}
