// `npm run check`: runs all checks, two at a time. Prints one line per check, and the whole output of those that fail.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const bin = (path) => join(root, "node_modules", path);
const keptIn = (name) => ["--tsBuildInfoFile", join(root, ".cache", name)];

// Slowest first, so that the last check to finish is a short one.
const checks = [
  // The compiler saves its state, so that the next run checks only changed files and files that depend on them.
  { name: "types", args: [bin("typescript-native/bin/tsc"), "--pretty", "--incremental", ...keptIn("types.json")] },
  // The web view runs in browsers, so it is checked with browser types instead of Node's.
  { name: "web types", args: [bin("typescript-native/bin/tsc"), "--pretty", "-p", "tsconfig.web.json"] },
  { name: "unused", args: [bin("knip/bin/knip.js"), "--no-progress", "--no-config-hints"] },
  { name: "layers", args: [bin("dependency-cruiser/bin/dependency-cruise.mjs"), "src"] },
  { name: "style", args: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings", "."] },
  { name: "generated", args: [join(root, "scripts/generate.mjs"), "--check"] },
];

const queue = checks.filter(({ name }) => name !== "web types" || existsSync(join(root, "src/web")));
const failed = [];
await Promise.all([worker(), worker()]);
if (failed.length > 0) {
  console.error(`\ncheck failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

async function worker() {
  for (let check = queue.shift(); check; check = queue.shift()) {
    const started = performance.now();
    const { code, output } = await run(check.args);
    const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    if (code === 0) {
      console.log(`ok      ${check.name.padEnd(10)} ${seconds}`);
      continue;
    }
    failed.push(check.name);
    console.error(`FAILED  ${check.name.padEnd(10)} ${seconds}\n${output.trimEnd()}\n`);
  }
}

function run(args) {
  return new Promise((settle) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.on("error", (error) => settle({ code: 1, output: error.message }));
    child.on("close", (code) => settle({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}
