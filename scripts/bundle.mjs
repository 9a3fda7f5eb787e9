// Bundles the command line: one CommonJS file for each entry, and for the `run` entry also the code that V8 compiled
// from it (docs/decisions/0019). `bundle` prints a message and returns false if it fails.

import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { tsImport } from "tsx/esm/api";

// `cli` is the program itself, which loads one of the other entries.
const entries = {
  cli: "src/cli/main.ts",
  help: "src/cli/help/print-text.ts",
  run: "src/cli/run-command.ts",
  serve: "src/cli/serve-command.ts",
  terminal: "src/terminal/index.ts",
};

// A quarter of the program, but only sessions with MCP servers need it, so it has a file of its own, which the entries
// load from their directory.
const mcpClient = "@modelcontextprotocol/client";
const mcpFile = "./mcp.cjs";

// The first package looks for its binary relative to its own file, so it has to stay where npm installed it. linkedom
// can work without canvas, and ws without bufferutil and utf-8-validate.
const external = ["@vscode/ripgrep", "canvas", "bufferutil", "utf-8-validate"];
// These packages are too slow to load before they are needed, so entries may load them only with import().
const lazy = [mcpFile, "@mozilla/readability", "@vscode/ripgrep", "diff", "linkedom", "turndown"];

// Only the `terminal` entry may contain these packages.
const forTerminal = ["highlight.js", "marked", "string-width"];

// Only the `serve` entry may contain these packages.
const forServing = ["@hono/node-server", "hono", "ws", "zod"];

export async function bundle({ root, directory }) {
  const sources = Object.entries(entries).filter(([, source]) => existsSync(join(root, source)));
  const options = {
    absWorkingDir: root,
    outdir: directory,
    outExtension: { ".js": ".cjs" },
    write: false,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    define: { "import.meta.filename": "__filename", "import.meta.dirname": "__dirname" },
    // `run` is compiled as a script, which can't use import(). With this setting, esbuild turns each import() into a
    // require().
    supported: { "dynamic-import": false },
    minifyWhitespace: true,
    // Node prints the whole source line of an uncaught error.
    lineLimit: 160,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  };
  const results = await Promise.all([
    build({
      ...options,
      entryPoints: Object.fromEntries(sources),
      external: [...external, mcpFile],
      alias: { [mcpClient]: mcpFile },
    }),
    build({ ...options, entryPoints: { mcp: mcpClient }, external }),
  ]).catch(() => undefined);
  if (!results) return false;
  const [result] = results;
  const loaded = sources.flatMap(([name, source]) =>
    loadedAtStart(source, { ...result.metafile, packages: unwantedIn(name) }),
  );
  if (loaded.length > 0) {
    console.error(
      `build: dist/cli.cjs loads ${loaded.join(", ")} at startup, but must load such packages only with import()`,
    );
    return false;
  }
  for (const { path, text } of results.flatMap(({ outputFiles }) => outputFiles)) {
    writeFileSync(path, inAscii(path.endsWith("run.cjs") ? asFunction(text) : text));
  }
  writeFileSync(join(directory, "terminal-licenses.txt"), licensesIn(root, result.metafile, "terminal.cjs"));
  chmodSync(join(directory, "cli.cjs"), 0o755);
  return !existsSync(join(directory, "run.cjs")) || addCompiledCode({ root, directory });
}

/** Returns the packages that an entry must not load when it starts. */
function unwantedIn(name) {
  const serving = name === "serve" ? [] : forServing;
  return [...lazy, ...serving, ...(name === "terminal" ? ["highlight.js"] : forTerminal)];
}

/** Returns the packages among `packages` that a source file reaches without import(). */
function loadedAtStart(source, { inputs, packages: unwanted }) {
  const reached = new Set([source]);
  for (const path of reached) {
    for (const { kind, path: imported } of inputs[path]?.imports ?? []) {
      if (kind !== "dynamic-import") reached.add(imported);
    }
  }
  const packages = new Set([...reached].map(packageOf));
  return unwanted.filter((name) => packages.has(name));
}

/**
 * Returns the licenses of the packages in an entry. Some of these packages are installed only as part of the bundle.
 */
function licensesIn(root, { outputs }, entry) {
  const inputs = Object.entries(outputs).find(([path]) => path.endsWith(`/${entry}`))?.[1].inputs ?? {};
  const directories = Object.keys(inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(directories)]
    .sort()
    .map((directory) => {
      const file = readdirSync(join(root, directory)).find((name) => /^licen[cs]e/i.test(name));
      const text = file === undefined ? "See its package.json." : readFileSync(join(root, directory, file), "utf8");
      return `${packageOf(directory)}\n\n${text.trim()}\n`;
    })
    .join("\n----\n\n");
}

function packageOf(path) {
  const name = path.split("node_modules/").at(-1);
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}

/** Wraps the `run` entry, which src/cli/code-cache.ts compiles and calls with the arguments of a CommonJS module. */
function asFunction(text) {
  return `(function (exports, require, module, __filename, __dirname) {${text}})\n`;
}

/**
 * Escapes non-ASCII characters, because V8 reads pure ASCII without decoding it. esbuild leaves some of these
 * characters in regular expressions.
 */
function inAscii(text) {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Adds compiled code to the build. Runs a small job, after which the program stores, in its state directory, the
 * compiled functions that every run needs. Copies the file that contains them. The job also tests the build; a second
 * run tests that V8 accepts the file.
 */
async function addCompiledCode({ root, directory }) {
  const { createApiServer } = await tsImport(join(root, "src/testing/index.ts"), import.meta.url);
  const place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-build-")));
  const file = join(place, "file.txt");
  writeFileSync(file, "One line.\n");
  const server = await createApiServer({ script: (request) => answer(request, file) });
  const job = { program: join(directory, "cli.cjs"), cwd: place, url: server.url };
  try {
    const [compiled] = await filesKeptBy(job, { home: join(place, "first") });
    if (compiled === undefined) throw new Error("it stored no compiled code");
    const { v8 } = process.versions;
    writeFileSync(join(directory, `run-${v8}-${process.arch}.cache`), readFileSync(compiled));
    const [again] = await filesKeptBy(job, { home: join(place, "second") });
    if (again !== undefined) throw new Error("V8 rejected the build's compiled code");
    return true;
  } catch (error) {
    console.error(`build: the program failed its first job: ${error.message}`);
    return false;
  } finally {
    await server.close();
    rmSync(place, { recursive: true, force: true });
  }
}

/** Acts as the model: the main agent starts one subagent, which reads a file. */
function answer({ rawBody }, file) {
  if (rawBody.includes('"role":"assistant"')) return { content: "Done." };
  if (!rawBody.includes("Do the job.")) return { content: [{ tool: "Read", input: { file_path: file } }] };
  const task = { description: "one part", prompt: "Do a part.", subagent_type: "general-purpose" };
  return { content: [{ tool: "Task", input: task }] };
}

async function filesKeptBy({ program, cwd, url }, { home }) {
  const child = spawn(process.execPath, [program, "-p", "Do the job."], {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 60_000,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      RETINUE_HOME: home,
      ANTHROPIC_API_KEY: "none",
      ANTHROPIC_BASE_URL: url,
    },
  });
  const code = await new Promise((resolve, reject) => child.on("close", resolve).on("error", reject));
  if (code !== 0) throw new Error(`it exited with ${code}`);
  const folder = join(home, "retinue-code-cache");
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}
