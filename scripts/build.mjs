// Builds dist/: the library with tsc (dist/lib), bundled with esbuild (dist/esm), the command line with esbuild
// (dist/cli.cjs and its entries) and the web view with vite (dist/web), which is kept if its own inputs have not changed.
//   --cli-only   leave the library as it is
//   --if-stale   do nothing if dist/ was built from the current inputs
//   --checked    skip the type check, because `npm run check` does it
// Everything is built in a temporary directory that is renamed at the end, so that simultaneous or interrupted builds
// never leave a half-written dist/.

import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { hashInputs, readStamp } from "./stamp.mjs";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
const sources = { cli: "src/cli/main.ts", lib: "src/index.ts", web: "src/web/index.html" };

const options = process.argv.slice(2);
const unknown = options.find((option) => !["--cli-only", "--if-stale", "--checked"].includes(option));
if (unknown !== undefined) {
  console.error(`build: unknown option ${unknown}. Use --cli-only, --if-stale or --checked.`);
  process.exit(2);
}
const isGiven = (option) => options.includes(option);
process.exit(
  await main({ cliOnly: isGiven("--cli-only"), ifStale: isGiven("--if-stale"), checked: isGiven("--checked") }),
);

async function main({ cliOnly, ifStale, checked }) {
  const parts = (cliOnly ? ["cli", "web"] : ["cli", "lib", "web"]).filter((part) => {
    if (existsSync(join(root, sources[part]))) return true;
    if (part !== "web") console.error(`build: skipped ${part}: ${sources[part]} does not exist`);
    return false;
  });
  const stamp = Object.fromEntries(parts.map((part) => [part, hashInputs(root, part)]));
  const isFresh = (part) => readStamp(dist)[part] === stamp[part];
  if (parts.length === 0 || (ifStale && parts.every(isFresh))) return 0;

  // Loaded only when there is something to build, because `npm start` always checks whether dist/ is current.
  const { bundle } = await import("./bundle.mjs");
  const { bundleWeb } = parts.includes("web") ? await import("./bundle-web.mjs") : {};
  removeLeftovers();
  const made = mkdtempSync(join(root, ".dist-"));
  try {
    chmodSync(made, 0o755);
    const isKept = parts.includes("web") && isFresh("web") && keep("web", made);
    const isMade = await Promise.all([
      !parts.includes("lib") || makeLibrary(made, { checked }),
      !parts.includes("cli") || bundle({ root, directory: made }),
      !parts.includes("web") || isKept || bundleWeb({ root, directory: join(made, "web") }),
    ]);
    if (!isMade.every(Boolean)) return 1;
    const { lib } = readStamp(dist);
    const hasLibrary = !parts.includes("lib") && ["lib", "esm"].every((part) => keep(part, made));
    const kept = hasLibrary && lib ? { lib } : {};
    writeFileSync(join(made, ".stamp"), JSON.stringify({ ...kept, ...stamp }));
    // Another process may have built the same inputs first. Its files are just as good and may be in use.
    if (!ifStale || !parts.every(isFresh)) putInPlace(made);
    return 0;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function makeLibrary(made, { checked }) {
  if (!(await compileLibrary(made, { checked }))) return false;
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { bundleLibrary } = await import("./bundle-library.mjs");
  return bundleLibrary({ root, directory: made, dependencies: Object.keys(dependencies) });
}

function compileLibrary(made, { checked }) {
  const tsc = join(root, "node_modules/typescript-native/bin/tsc");
  const words = ["-p", "tsconfig.build.json", "--outDir", join(made, "lib"), ...(checked ? ["--noCheck"] : [])];
  const child = spawn(process.execPath, [tsc, ...words], { cwd: root, stdio: "inherit" });
  return new Promise((resolve, reject) => child.on("close", (code) => resolve(code === 0)).on("error", reject));
}

/** Copies a directory from the last build into this one. Returns false if there is none. */
function keep(part, made) {
  const directory = join(dist, part);
  if (!existsSync(directory)) return false;
  cpSync(directory, join(made, part), { recursive: true });
  return true;
}

function putInPlace(made) {
  for (let attempt = 0; ; attempt++) {
    const old = `${made}-old-${attempt}`;
    try {
      if (existsSync(dist)) renameSync(dist, old);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    try {
      renameSync(made, dist);
      return;
    } catch (error) {
      const takenByAnother = error.code === "ENOTEMPTY" || error.code === "EEXIST" || error.code === "EPERM";
      if (!takenByAnother || attempt >= 20) throw error;
    } finally {
      rmSync(old, { recursive: true, force: true });
    }
  }
}

// Removes the remains of killed builds: temporary directories that have not changed for an hour.
function removeLeftovers() {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(".dist-")) continue;
    const path = join(root, name);
    if (statSync(path).mtimeMs < Date.now() - 3_600_000) rmSync(path, { recursive: true, force: true });
  }
}
