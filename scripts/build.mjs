// Builds dist/: the library by tsc (dist/lib), the command line by esbuild (dist/cli.cjs and its entries).
//   --cli-only   leave the library as it is
//   --if-stale   do nothing when dist/ was built from these very inputs
//   --checked    the types were checked already, by types.mjs, which has left the library that it saw
// Everything is made in a directory of its own and renamed at the end, so that two builds at once, or one that is
// interrupted, never leave a half-written dist/.

import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { bundle } from "./bundle.mjs";
import { checkedDirectory, hashInputs, readStamp } from "./stamp.mjs";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
const sources = { cli: "src/cli/main.ts", lib: "src/index.ts" };

const options = process.argv.slice(2);
const unknown = options.find((option) => !["--cli-only", "--if-stale", "--checked"].includes(option));
if (unknown !== undefined) {
  console.error(`build: unknown option ${unknown}. There are --cli-only, --if-stale and --checked.`);
  process.exit(2);
}
const isGiven = (option) => options.includes(option);
process.exit(
  await main({ cliOnly: isGiven("--cli-only"), ifStale: isGiven("--if-stale"), checked: isGiven("--checked") }),
);

async function main({ cliOnly, ifStale, checked }) {
  const parts = (cliOnly ? ["cli"] : ["cli", "lib"]).filter((part) => {
    if (existsSync(join(root, sources[part]))) return true;
    console.error(`build: skipped ${part}: there is no ${sources[part]} yet`);
    return false;
  });
  const hash = hashInputs(root);
  const fresh = () => parts.every((part) => readStamp(dist)[part] === hash);
  if (parts.length === 0 || (ifStale && fresh())) return 0;

  removeLeftovers();
  const made = mkdtempSync(join(root, ".dist-"));
  try {
    chmodSync(made, 0o755);
    const isMade = await Promise.all([
      !parts.includes("lib") || (checked && takeChecked(made, hash)) || buildLibrary(made, { checked }),
      !parts.includes("cli") || bundle({ root, directory: made }),
    ]);
    if (!isMade.every(Boolean)) return 1;
    const stamp = Object.fromEntries(parts.map((part) => [part, hash]));
    const kept = parts.includes("lib") ? {} : keepLibrary(made);
    writeFileSync(join(made, ".stamp"), JSON.stringify({ ...kept, ...stamp }));
    // Another process may have built the same in the meantime; its files are as good and perhaps in use.
    if (!ifStale || !fresh()) putInPlace(made);
    return 0;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Answers whether there was one of these very inputs, that no other build has taken. */
function takeChecked(made, hash) {
  const directory = join(root, checkedDirectory);
  if (readStamp(directory).lib !== hash) return false;
  try {
    renameSync(join(directory, "lib"), join(made, "lib"));
  } catch {
    return false;
  }
  rmSync(directory, { recursive: true, force: true });
  return true;
}

function buildLibrary(made, { checked }) {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const words = ["-p", "tsconfig.build.json", "--outDir", join(made, "lib"), ...(checked ? ["--noCheck"] : [])];
  const child = spawn(process.execPath, [tsc, ...words], { cwd: root, stdio: "inherit" });
  return new Promise((resolve, reject) => child.on("close", (code) => resolve(code === 0)).on("error", reject));
}

function keepLibrary(made) {
  const library = join(dist, "lib");
  if (!existsSync(library)) return {};
  const { lib } = readStamp(dist);
  cpSync(library, join(made, "lib"), { recursive: true });
  return lib ? { lib } : {};
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

// Of builds that were killed: anything that has not been touched for an hour.
function removeLeftovers() {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(".dist-")) continue;
    const path = join(root, name);
    if (statSync(path).mtimeMs < Date.now() - 3_600_000) rmSync(path, { recursive: true, force: true });
  }
}
