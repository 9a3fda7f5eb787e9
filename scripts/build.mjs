// Builds dist/: the library by tsc (dist/lib), the command line by esbuild (dist/cli.js and dist/chunks).
//   --cli-only   leave the library as it is
//   --if-stale   do nothing when dist/ was built from these very inputs
// Everything is made in a directory of its own and renamed at the end, so that two builds at once, or one that is
// interrupted, never leave a half-written dist/.

import { spawnSync } from "node:child_process";
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
import { build } from "esbuild";
import { hashInputs, readStamp } from "./stamp.mjs";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
const sources = { cli: "src/cli/main.ts", lib: "src/index.ts" };

// Finds its binary beside itself, so it has to stay where npm put it.
const external = ["@vscode/ripgrep"];
// Too slow to load before somebody needs them: they may be reached from main.ts only through an import().
const lazy = ["@mozilla/readability", "@vscode/ripgrep", "diff", "linkedom", "turndown", "unbash"];

const unknown = process.argv.slice(2).filter((option) => option !== "--cli-only" && option !== "--if-stale");
if (unknown.length > 0) {
  console.error(`build: unknown option ${unknown[0]}. There are --cli-only and --if-stale.`);
  process.exit(2);
}
process.exit(
  await main({ cliOnly: process.argv.includes("--cli-only"), ifStale: process.argv.includes("--if-stale") }),
);

async function main({ cliOnly, ifStale }) {
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
    if (parts.includes("lib") && !buildLibrary(made)) return 1;
    if (parts.includes("cli") && !(await buildCommandLine(made))) return 1;
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

function buildLibrary(made) {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const options = ["-p", "tsconfig.build.json", "--outDir", join(made, "lib")];
  return spawnSync(process.execPath, [tsc, ...options], { cwd: root, stdio: "inherit" }).status === 0;
}

function keepLibrary(made) {
  const library = join(dist, "lib");
  if (!existsSync(library)) return {};
  const { lib } = readStamp(dist);
  cpSync(library, join(made, "lib"), { recursive: true });
  return lib ? { lib } : {};
}

async function buildCommandLine(made) {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { cli: sources.cli },
    outdir: made,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    chunkNames: "chunks/[name]-[hash]",
    external: [...external, "canvas"],
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  }).catch(() => undefined);
  if (!result) return false;

  const outputs = outputsOf(result.metafile, made);
  for (const name of outputs.keys()) addPrelude(join(made, name));
  chmodSync(join(made, "cli.js"), 0o755);

  const loaded = loadedAtStart(outputs);
  if (loaded.length === 0) return true;
  console.error(
    `build: dist/cli.js loads ${loaded.join(", ")} before anything asked for it; reach it by import() only`,
  );
  return false;
}

// esbuild names outputs relative to the working directory; here they are relative to dist/.
function outputsOf(metafile, made) {
  const prefix = `${made.slice(root.length + 1).replaceAll("\\", "/")}/`;
  const strip = (path) => (path.startsWith(prefix) ? path.slice(prefix.length) : path);
  return new Map(
    Object.entries(metafile.outputs).map(([path, output]) => [
      strip(path),
      { ...output, imports: output.imports.map((each) => ({ ...each, path: strip(each.path) })) },
    ]),
  );
}

function loadedAtStart(outputs) {
  const reached = new Set(["cli.js"]);
  const packages = new Set();
  for (const name of reached) {
    const output = outputs.get(name);
    for (const input of Object.keys(output?.inputs ?? {})) packages.add(packageOf(input));
    for (const { kind, path } of output?.imports ?? []) {
      if (kind === "import-statement") outputs.has(path) ? reached.add(path) : packages.add(path);
    }
  }
  return lazy.filter((name) => packages.has(name));
}

function packageOf(input) {
  const after = input.split("node_modules/").at(-1) ?? "";
  return after.split("/", after.startsWith("@") ? 2 : 1).join("/");
}

// CommonJS packages ask for Node's modules by require(), which an ES module has only when it makes one.
function addPrelude(file) {
  const shebang = file.endsWith("cli.js") ? "#!/usr/bin/env node\n" : "";
  const text = readFileSync(file, "utf8").replace(/^#!.*\n/, "");
  const asksForRequire = text.includes('typeof require !== "undefined"');
  const createRequire = asksForRequire
    ? 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\n'
    : "";
  writeFileSync(file, shebang + createRequire + text);
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
