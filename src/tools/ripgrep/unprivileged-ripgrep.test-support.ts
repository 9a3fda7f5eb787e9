import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRoot, respectingModes } from "../../testing/needs.test-support.ts";
import { findRipgrep } from "./find-ripgrep.ts";

/** Creates a program in the directory that runs the real ripgrep without root's right to ignore file modes. */
export function createUnprivilegedRipgrep(directory: string): string {
  const location = findRipgrep(process.env);
  if ("missing" in location) throw new Error(location.missing);
  if (!isRoot) return location.program;
  const program = join(directory, "unprivileged-ripgrep");
  writeFileSync(program, `#!/bin/sh\nexec ${respectingModes.join(" ")} '${location.program}' "$@"\n`);
  chmodSync(program, 0o755);
  return program;
}
