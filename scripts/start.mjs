// `npm start -- ARGS`: builds the command line if it is stale, then runs it in the same process.

import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { hashInputs, readStamp } from "./stamp.mjs";

const root = resolve(import.meta.dirname, "..");
const cli = join(root, "dist/cli.cjs");

const stamp = readStamp(join(root, "dist"));
if (!existsSync(cli) || stamp.cli !== hashInputs(root, "cli") || stamp.web !== webHash()) {
  console.error("retinue: building the command line (only needed after source changes) ...");
  const build = join(root, "scripts/build.mjs");
  // Standard output is reserved for the command.
  const { status } = spawnSync(process.execPath, [build, "--cli-only", "--if-stale"], { stdio: ["ignore", 2, 2] });
  if (status !== 0 || !existsSync(cli)) {
    console.error("retinue: the build failed (see above). Run `npm ci` if packages are missing.");
    process.exit(1);
  }
}

// npm runs scripts in the package's directory, but the command has to work in the user's current directory.
const { INIT_CWD, npm_lifecycle_event, npm_package_json } = process.env;
if (INIT_CWD && npm_lifecycle_event === "start" && isOurs(npm_package_json)) process.chdir(INIT_CWD);

process.argv[1] = cli;
await import(pathToFileURL(cli).href);

/** Returns the hash of the inputs of the web view; undefined if there is no source. */
function webHash() {
  return existsSync(join(root, "src/web")) ? hashInputs(root, "web") : undefined;
}

// Returns false if an npm script in another package started this file, because npm's variables then describe that
// package.
function isOurs(packageFile) {
  return packageFile !== undefined && realpathSync(packageFile) === realpathSync(join(root, "package.json"));
}
