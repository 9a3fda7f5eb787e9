import { chmodSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Puts all temporary files of a test run into one directory, and deletes it when the run ends. */
export function setup(): () => void {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "retinue-tests-")));
  // Some tests run programs as another user.
  chmodSync(directory, 0o755);
  process.env["TMPDIR"] = directory;
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
