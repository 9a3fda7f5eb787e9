// The command line as dist/cli.js plus chunks that are loaded only when asked for. Answers whether it worked.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { leanBuiltins } from "./lean-builtins.mjs";
import { mergeChunks } from "./merge-chunks.mjs";
import { throughDoors } from "./through-doors.mjs";

// Finds its binary beside itself, so it has to stay where npm put it.
const external = ["@vscode/ripgrep"];
// Too slow to load before somebody needs them: they may be reached from the entry only through an import().
const lazy = [
  "@modelcontextprotocol/client",
  "@mozilla/readability",
  "@vscode/ripgrep",
  "diff",
  "linkedom",
  "turndown",
];

// What a run needs before its first request, and what its first tool call and its first agent need.
const groups = [
  { name: "core", entries: ["src/cli/run-command.ts"] },
  { name: "work", entries: ["src/app/tools/create-tool-executor.ts"] },
];

export async function bundle({ root, entry, directory }) {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { cli: entry },
    outdir: directory,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    chunkNames: "chunks/[name]-[hash]",
    external: [...external, "canvas"],
    // Some CommonJS packages hash their own file name.
    define: { __filename: "import.meta.filename", __dirname: "import.meta.dirname" },
    plugins: [leanBuiltins(), throughDoors(), sameNamesAsNode(root)],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  }).catch(() => undefined);
  if (!result) return false;

  const outputs = outputsOf(result.metafile, { root, directory });
  const scripts = groups.filter(({ entries }) => entries.every((entry) => existsSync(join(root, entry))));
  await mergeChunks(outputs, { directory, groups: scripts });
  for (const name of outputs.keys()) addPrelude(join(directory, name));
  chmodSync(join(directory, "cli.js"), 0o755);

  const loaded = loadedAtStart(outputs);
  if (loaded.length === 0) return scripts.length === 0 || keepCompiled({ root, directory });
  console.error(
    `build: dist/cli.js loads ${loaded.join(", ")} before anything asked for it; reach it by import() only`,
  );
  return false;
}

function keepCompiled({ root, directory }) {
  const words = ["--import", "tsx", join(root, "scripts/code-cache.mjs"), directory];
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) console.error("build: the program did not do its first small job");
  return status === 0;
}

// import() of a CommonJS package has its named exports in Node but only `default` in a bundle; this puts them back.
function sameNamesAsNode(root) {
  const namespace = "same-names-as-node";
  const setup = ({ onResolve, onLoad }) => {
    onResolve({ filter: /^[@a-z]/ }, ({ kind, path }) => {
      const bundled = kind === "dynamic-import" && !external.includes(path) && !isBuiltin(path);
      return bundled ? { path, namespace } : undefined;
    });
    onLoad({ filter: /.*/, namespace }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== "module.exports");
      return { contents: `export { ${names.join(", ")} } from "${path}";`, resolveDir: root };
    });
  };
  return { name: namespace, setup };
}

// esbuild names outputs relative to the working directory; here they are relative to dist/.
function outputsOf(metafile, { root, directory }) {
  const prefix = `${directory.slice(root.length + 1).replaceAll("\\", "/")}/`;
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
    ? 'import { createRequire as makeRequire } from "node:module";\nconst require = makeRequire(import.meta.url);\n'
    : "";
  writeFileSync(file, shebang + createRequire + text);
}
