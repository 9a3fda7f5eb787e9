// Builds dist/: the library by tsc (dist/lib), the command line by esbuild (dist/cli.js and dist/chunks).
//   --cli-only   leave the library as it is
//   --if-stale   do nothing when dist/ was built from these very inputs
//   --checked    the types were checked already; that has left a library, which stays if it is of these very inputs

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundle } from "./bundle.mjs";
import { hashInputs } from "./stamp.mjs";
import { isFresh, writeDist } from "./write-dist.mjs";

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
  const isStale = (part) => !isFresh({ dist, parts: [part], hash });
  const wanted = checked ? parts.filter((part) => part !== "lib" || isStale(part)) : parts;
  if (wanted.length === 0 || (ifStale && !wanted.some(isStale))) return 0;

  const make = async (made) => {
    const results = await Promise.all([
      !wanted.includes("lib") || buildLibrary(made, { checked }),
      !wanted.includes("cli") || bundle({ root, entry: sources.cli, directory: made }),
    ]);
    return results.every(Boolean);
  };
  return (await writeDist({ root, parts: wanted, hash, make, keepsFresh: ifStale })) ? 0 : 1;
}

function buildLibrary(made, { checked }) {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const words = ["-p", "tsconfig.build.json", "--outDir", join(made, "lib"), ...(checked ? ["--noCheck"] : [])];
  const child = spawn(process.execPath, [tsc, ...words], { cwd: root, stdio: "inherit" });
  return new Promise((resolve, reject) => child.on("close", (code) => resolve(code === 0)).on("error", reject));
}
