// Vitest's global setup for tests that run dist/: makes sure that it is built from the source as it is now.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

export function setup() {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, "build.mjs"), "--if-stale"], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("The build failed, see above; the tests that run dist/ need it.");
}
