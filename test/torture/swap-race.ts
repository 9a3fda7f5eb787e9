import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createExecutor } from "../../src/executor/index.ts";
import type { ToolExecutor } from "../../src/ports/index.ts";
import { type Policy, textOf } from "../../src/protocol/index.ts";
import { createWorkerTools } from "../../src/tools/index.ts";
import { createLocalWorkspace } from "../../src/workspace/index.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/** Number of races per run: calls that the rules allowed while another process was swapping. */
const RACES = 20;
/** Maximum number of calls per run. A call that finds the link when it is checked is denied, and is not a race. */
const TRIES = 400;

/** Paths that another process keeps swapping for a link to the outside and back. `target` is the path the tools use. */
const kinds = [
  { swapped: "d", link: "outside", target: "d/f.ipynb" },
  { swapped: "d", link: "outside", target: "d/sub/f.ipynb" },
  { swapped: "d/f.ipynb", link: "outside/f.ipynb", target: "d/f.ipynb" },
  { swapped: "d/new.ipynb", link: "outside/new.ipynb", target: "d/new.ipynb" },
  { swapped: "d", link: "outside", target: "d/new/deeper/f.ipynb" },
] as const;

const tools = ["Write", "Edit", "NotebookEdit"] as const;

const swapper = `
const fs = require("node:fs");
const [swapped, link, count, seed] = process.argv.slice(1);
const attempt = (action) => { try { action(); return true; } catch { return false; } };
let state = Number(seed) | 1, swaps = 0;
const spin = () => {
  state = Math.imul(state, 48271) % 2147483647;
  for (const end = performance.now() + (Math.abs(state) % 9) / 10; performance.now() < end; );
};
fs.symlinkSync(link, swapped + "-link");
const counter = fs.openSync(count, "w");
for (let round = 0; ; round++) {
  const real = attempt(() => fs.renameSync(swapped, swapped + "-real"));
  if (attempt(() => fs.renameSync(swapped + "-link", swapped))) {
    swaps++;
    if (round % 4 === 0) spin();
    attempt(() => fs.renameSync(swapped, swapped + "-link"));
  }
  if (real) attempt(() => fs.renameSync(swapped + "-real", swapped));
  spin();
  fs.writeSync(counter, String(swaps).padStart(9), 0);
  if (round === 0) fs.writeSync(1, "running");
}
`;

/**
 * Runs Write, Edit and NotebookEdit while another process swaps files and directories for links. Nothing outside the
 * workspace may change.
 */
export const swapRace: Campaign = async (options) => {
  if (process.platform === "win32") {
    const skipped = ["swap races: this system needs privileges to create links"];
    return { passed: 0, run: 0, firstFailure: undefined, work: {}, skipped };
  }
  return runSeeds(options, race, { workers: 1 });
};

async function race(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const kind = kinds[Math.floor(random() * kinds.length)] ?? kinds[0];
  const top = realpathSync(mkdtempSync(join(tmpdir(), "swap-race-")));
  const root = join(top, "project");
  const outside = join(top, "outside");
  for (const [place, content] of [
    [join(root, "d"), "inside"],
    [outside, "SECRET"],
  ] as const) {
    mkdirSync(join(place, "sub"), { recursive: true });
    for (const name of ["f.ipynb", "sub/f.ipynb"]) writeFileSync(join(place, name), notebook(content));
  }
  const before = contentOf(outside);
  const executor = executorAt(root, top);
  const swapping = await startSwapping(join(root, kind.swapped), { link: join(top, kind.link), top, seed });
  const work = { races: 0, written: 0, caught: 0, denied: 0, swaps: 0 };
  const violations: string[] = [];
  try {
    for (let round = 0; work.races < RACES && round < TRIES; round += 1) {
      const tool = tools[Math.floor(random() * tools.length)] ?? "Write";
      const done = await attack(executor, { tool, path: join(root, kind.target), root, round });
      work[done.end] += 1;
      if (done.end !== "denied") work.races += 1;
      if (done.said.includes("SECRET")) violations.push(`${tool} on ${kind.target} read a file outside the workspace`);
    }
  } finally {
    await end(swapping);
    await executor.close();
  }
  work.swaps = Number(readFileSync(join(top, "swaps"), "utf8"));
  const after = contentOf(outside);
  if (after !== before) violations.push(`ESCAPE of ${kind.target} with ${kind.swapped} swapped: ${after}`);
  if (work.swaps === 0) violations.push("nothing was swapped");
  if (violations.length === 0) rmSync(top, { recursive: true });
  else violations.push(`see ${top}`);
  return { violations, work };
}

type End = "written" | "caught" | "denied";

interface Attack {
  readonly tool: (typeof tools)[number];
  readonly path: string;
  readonly root: string;
  readonly round: number;
}

/** Calls Read first, as these tools require. Each of the two calls may find the real path or the link. */
async function attack(
  executor: ToolExecutor,
  { tool, path, root, round }: Attack,
): Promise<{ end: End; said: string }> {
  const policy: Policy = {
    mode: "acceptEdits",
    pool: ["Read", ...tools],
    rules: [],
    workspaceRoots: [root],
    readableRoots: [],
  };
  const call = async (name: string, input: object) => {
    const asked = { callId: `${name}-${round}`, name, inputJson: JSON.stringify(input) };
    const request = { agentId: "main", call: asked, policy };
    const { outcome, content } = await executor.execute(request, () => undefined, new AbortController().signal);
    const end: End = outcome === "ok" ? "written" : outcome === "denied" ? "denied" : "caught";
    return { end, said: textOf(content) };
  };
  const read = await call("Read", { file_path: path });
  const inputs = {
    Write: { file_path: path, content: notebook(`escaped ${round}`) },
    Edit: { file_path: path, old_string: '"source"', new_string: `"round": ${round}, "source"` },
    NotebookEdit: { notebook_path: path, cell_id: "a", new_source: `escaped ${round}` },
  };
  const done = await call(tool, inputs[tool]);
  return { end: done.end, said: read.said + done.said };
}

function executorAt(root: string, top: string): ToolExecutor {
  const workspace = createLocalWorkspace({ root, environment: {} });
  const results = { save: async () => "", saveFile: async () => "" };
  const all = createWorkerTools({ sessionId: "race", workspace, results, outputDirectory: join(top, "out") });
  return createExecutor({ tools: all, workspace, results });
}

interface Swapping {
  readonly link: string;
  readonly top: string;
  readonly seed: number;
}

async function startSwapping(swapped: string, { link, top, seed }: Swapping): Promise<ChildProcess> {
  const args = ["-e", swapper, swapped, link, join(top, "swaps"), String(seed)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", () => reject(new Error("the swapping process ended")));
  });
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

function contentOf(directory: string): string {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  const lines = files.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return `${path}: ${entry.isFile() ? readFileSync(path, "utf8") : "directory"}`;
  });
  return lines.sort().join("\n");
}

function notebook(source: string): string {
  const cells = [{ cell_type: "code", source: [source], metadata: {}, outputs: [], execution_count: null, id: "a" }];
  return JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 });
}
