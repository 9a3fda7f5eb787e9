// Vitest's global setup: when there are tests among those asked for that run dist/, makes sure that it is built from
// the source as it is now. The tests of a module alone never wait for that.

import { spawnSync } from "node:child_process";
import { join, relative } from "node:path";

export function setup({ vitest }) {
  const asked = vitest.state.getPaths().map((path) => relative(vitest.config.root, path).replaceAll("\\", "/"));
  if (!asked.some((path) => /^(test|src\/cli)\//.test(path))) return;
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, "build.mjs"), "--if-stale"], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("The build failed, see above; the tests that run dist/ need it.");
}
