import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cases } from "./cases.ts";
import type { Figure } from "./figure.ts";

// Usage: npm run bench [-- NAME …]. Most figures are ratios to a baseline measured in the same run.
// Exits with 1 if a figure exceeds its limit.
const names = process.argv.slice(2).length > 0 ? process.argv.slice(2) : Object.keys(cases);
const build = fileURLToPath(new URL("../scripts/build.mjs", import.meta.url));
if (spawnSync(process.execPath, [build, "--if-stale"], { stdio: "inherit" }).status !== 0) process.exit(1);

let over = 0;
for (const name of names) {
  const measure = cases[name];
  if (!measure) {
    process.stderr.write(`Unknown benchmark "${name}". Use ${Object.keys(cases).join(", ")}.\n`);
    process.exit(2);
  }
  for (const figure of await measure()) {
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
