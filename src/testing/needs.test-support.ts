import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

declare module "vitest" {
  interface TaskMeta {
    /** What a skipped test needs and this machine does not have. */
    missing?: string;
  }
}

/**
 * Options for tests that need something that not every machine has: by default, a program with this name. Where it is
 * missing, the tests are skipped, and the test run ends with a count of them.
 */
export function needs(what: string, isThere: boolean = isInstalled(what)) {
  return isThere ? {} : { skip: true, meta: { missing: what } };
}

export const isRoot = process.getuid?.() === 0;
export const isLinux = process.platform === "linux";

/** Start of a command line for programs that must respect file modes, which root ignores. Empty for other users. */
export const respectingModes = isRoot ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];
const canRespectModes = spawnSync("env", [...respectingModes, "true"]).status === 0;
/** Options for tests that start programs which must respect file modes. */
export const needsModes = needs("setpriv", canRespectModes);

/**
 * Options for tests that start programs in new terminals, with util-linux's `script`. Other implementations have
 * different options.
 */
export const needsTerminals = needs(
  "script from util-linux",
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false,
);

function isInstalled(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
