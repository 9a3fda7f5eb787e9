// Global setup for Vitest: if any of the selected tests run dist/, makes sure that it is built from the current source.
// Other tests do not wait for a build. Types are not checked: `npm run check` does that.

import { spawnSync } from "node:child_process";
import { join, relative } from "node:path";

export function setup({ vitest }) {
  const asked = vitest.state.getPaths().map((path) => relative(vitest.config.root, path).replaceAll("\\", "/"));
  if (!asked.some((path) => /^(test|src\/cli)\//.test(path))) return;
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, "build.mjs"), "--if-stale", "--checked"], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("The build failed (see above). The tests that run dist/ need it.");
}
