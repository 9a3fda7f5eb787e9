import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import type { Reply } from "../src/testing/index.ts";
import { median, run } from "./client.ts";
import type { Figure } from "./figure.ts";

const TURNS = 200;
const library = resolve(import.meta.dirname, "../dist/esm/index.js");
const program = { program: "library-client.mjs", args: ["Do the job."] };

/** Measures how long it takes to import the library, and what a turn costs in a program that uses it. */
export async function libraryCase(): Promise<Figure[]> {
  return [importFigure(), await turnFigure()];
}

function importFigure(): Figure {
  const bare: number[] = [];
  const imported: number[] = [];
  for (let round = 0; round < 21; round += 1) {
    bare.push(importTime("data:text/javascript,"));
    imported.push(importTime(library));
  }
  const ours = Number((median(imported) - median(bare)).toFixed(1));
  return { name: "processor time to import the library", ours, baseline: 0, unit: "ms", limit: 60, kind: "value" };
}

/** Returns the processor time that a new process uses to import a module, in milliseconds. */
function importTime(module: string): number {
  const code = `const before = process.cpuUsage(); await import(${JSON.stringify(module)});
    const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000);`;
  return Number(spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }).stdout);
}

/**
 * Compares a run of the library with the bare loop. Runs of one turn show the cost that does not depend on the number
 * of turns.
 */
async function turnFigure(): Promise<Figure> {
  const reply = (turn: number, cwd: string): Reply =>
    turn > TURNS
      ? { content: "done" }
      : { content: [{ tool: "Read", input: { file_path: `${cwd}/file.txt`, offset: turn, limit: 4 } }] };
  const done = (): Reply => ({ content: "done" });
  const cpuMs = async (job: { reply: typeof reply; baseline?: typeof program }): Promise<number> =>
    (await run({ client: "baseline", usage: true, ...job })).cpuMs;
  const extra: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const baseline = (await cpuMs({ reply })) - (await cpuMs({ reply: done }));
    const ours = (await cpuMs({ reply, baseline: program })) - (await cpuMs({ reply: done, baseline: program }));
    extra.push((ours - baseline) / TURNS);
  }
  const name = `processor time per turn of the library over ${TURNS} turns, above the bare loop`;
  return { name, ours: Number(median(extra).toFixed(2)), baseline: 0, unit: "ms", limit: 3, kind: "value" };
}
