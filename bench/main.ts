import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cases, shortCases } from "./cases.ts";
import type { Figure } from "./figure.ts";

// Usage: npm run bench [-- [--short] NAME …]. Most figures are ratios to a baseline measured in the same run.
// Exits with 1 if a figure exceeds its limit. With --short, takes half a minute and doubles the limits, so that it can
// run on a busy machine. To compare another build of the command line, set RETINUE_BENCH_PROGRAM to its cli.cjs.
const given = process.argv.slice(2);
const isShort = given.includes("--short");
const known = isShort ? shortCases : Object.keys(cases);
const asked = given.filter((word) => word !== "--short");
const names = asked.length > 0 ? asked : known;
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) {
  process.stderr.write(`Unknown benchmark "${unknown}"${isShort ? " with --short" : ""}. Use ${known.join(", ")}.\n`);
  process.exit(2);
}
const build = fileURLToPath(new URL("../scripts/build.mjs", import.meta.url));
if (spawnSync(process.execPath, [build, "--if-stale"], { stdio: "inherit" }).status !== 0) process.exit(1);

let over = 0;
for (const name of names) {
  for (const measured of (await cases[name]?.(isShort)) ?? []) {
    const figure = isShort ? { ...measured, limit: 2 * measured.limit } : measured;
    const good = isGood(figure);
    if (!good) over += 1;
    process.stdout.write(`${good ? "ok  " : "OVER"} ${describe(figure)}\n`);
  }
}
process.exitCode = over === 0 ? 0 : 1;

function isGood({ ours, baseline, limit, kind }: Figure): boolean {
  return kind === "value" ? ours <= limit : ours / baseline <= limit;
}

function describe({ name, ours, baseline, unit, limit, kind }: Figure): string {
  if (kind === "value") return `${name}: ${ours} ${unit} (at most ${limit})`;
  return `${name}: ${ours.toFixed(2)} ${unit}, baseline ${baseline.toFixed(2)} ${unit}, ratio ${(ours / baseline).toFixed(2)} (at most ${Number(limit.toFixed(2))})`;
}
