import { chmodSync, existsSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deleteTreeSync } from "../src/lib/index.ts";

/**
 * Puts all temporary files of a test run into one directory, and deletes it when the run ends. The directory is in memory
 * if the system has a place for that, because thousands of tests sync their files to the disk.
 */
export function setup(): () => void {
  const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const directory = realpathSync(mkdtempSync(join(parent, "retinue-tests-")));
  // Some tests run programs as another user.
  chmodSync(directory, 0o755);
  process.env["TMPDIR"] = directory;
  return () => deleteTreeSync(directory);
}
