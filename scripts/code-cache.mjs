// Usage: node --import tsx scripts/code-cache.mjs DIST. Keeps what V8 makes of the scripts of DIST beside them, so that
// a start does not compile them again. A small job is run for it, so that the functions every run needs are compiled.
// Another V8 compiles for itself: the name of a kept file says whose it is.

import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiServer } from "../src/testing/index.ts";

const [dist] = process.argv.slice(2);
const place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-build-")));
const file = join(place, "file.txt");
writeFileSync(file, "One line.\n");
const server = await createApiServer({ script: answer });
try {
  // The second time with what the first has kept.
  process.exitCode = (await doTheJob()) || (await doTheJob());
} finally {
  await server.close();
  rmSync(place, { recursive: true, force: true });
}

function answer({ rawBody }) {
  const isMain = rawBody.includes("Do the job.");
  if (rawBody.includes('"role":"assistant"')) return { content: "Done." };
  if (!isMain) return { content: [{ tool: "Read", input: { file_path: file } }] };
  const task = { description: "one part", prompt: "Do a part.", subagent_type: "general-purpose" };
  return { content: [{ tool: "Task", input: task }] };
}

function doTheJob() {
  const hook = new URL("keep-scripts.mjs", import.meta.url).href;
  const child = spawn(process.execPath, ["--import", hook, join(dist, "cli.js"), "-p", "Do the job."], {
    cwd: place,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 60_000,
    env: { PATH: process.env.PATH, HOME: place, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
  });
  return new Promise((resolve, reject) => child.on("close", (code) => resolve(code ?? 1)).on("error", reject));
}
