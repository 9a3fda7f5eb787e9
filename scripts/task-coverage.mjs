// Counts the files and functions that one Task call adds to a run: `node scripts/task-coverage.mjs [--list]`.
// Runs the built library twice in one process, first without and then with a Task call, and reports the functions that
// ran only the second time. The number shows how much code a reader must follow to understand a delegation.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(import.meta.dirname, "..");
const library = join(root, "dist/lib");
const build = spawnSync(process.execPath, [join(root, "scripts/build.mjs"), "--if-stale"], { stdio: "inherit" });
if (build.status !== 0) process.exit(1);

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

const { openSession } = await import(pathToFileURL(join(library, "index.js")).href);
const { createApiServer } = await import(pathToFileURL(join(library, "testing/index.js")).href);

const read = { tool: "Read", input: { file_path: "notes.txt" } };
const task = { tool: "Task", input: { description: "look", prompt: "CHILD: look", subagent_type: "general-purpose" } };

await walk([read]);
const before = await functionsRun();
await walk([read, task]);
const after = await functionsRun();
const added = [...after].filter((name) => !before.has(name));
const functions = added.filter((name) => !name.includes("#module@"));
const files = new Map();
for (const name of added) {
  const [file, called] = name.split("#");
  files.set(file, [...(files.get(file) ?? []), called]);
}
if (process.argv.includes("--list"))
  for (const [file, called] of [...files].sort()) console.log(`${file}: ${called.join(", ")}`);
console.log(`A Task call adds ${files.size} files and ${functions.length} functions to a run.`);
process.exit(0);

/** Runs one prompt against a model API server that responds with the given calls. */
async function walk(calls) {
  const cwd = mkdtempSync(join(tmpdir(), "retinue-coverage-"));
  writeFileSync(join(cwd, "notes.txt"), "alpha\n");
  const script = (request, { turn }) => {
    const isChild = request.rawBody.includes("CHILD: look") && !request.rawBody.includes("MAIN:");
    return { content: isChild ? "Seen." : turn <= calls.length ? [calls[turn - 1]] : "Done." };
  };
  const server = await createApiServer({ script });
  const environment = { PATH: process.env.PATH, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: server.url };
  const session = await openSession({ cwd, home: join(cwd, ".home"), environment });
  const result = await session.prompt("MAIN: do it.").result;
  await session.close();
  await server.close();
  rmSync(cwd, { recursive: true, force: true });
  if (result.outcome !== "succeeded")
    throw new Error(`The run ended with the outcome "${result.outcome}": ${result.message}`);
}

/**
 * Returns the functions that ran since the last call, as `file#function@offset`. `module` is the code that runs when a
 * file is loaded.
 */
async function functionsRun() {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  const names = new Set();
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const path = fileURLToPath(url);
    if (!path.startsWith(library) || path.includes("/lib/testing/")) continue;
    for (const { functionName, ranges } of functions) {
      const { count, startOffset } = ranges[0];
      if (count === 0) continue;
      const name = startOffset === 0 ? "module" : functionName || "anonymous";
      names.add(`${path.slice(library.length + 1)}#${name}@${startOffset}`);
    }
  }
  return names;
}
