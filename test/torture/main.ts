import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { abort, abortFamily } from "./abort.ts";
import { apiFaults, apiFaultsFamily } from "./api-faults.ts";
import type { Campaign, CampaignReport } from "./campaign.ts";
import { damage } from "./damage.ts";
import { fullDisk } from "./disk.ts";
import { hugeOutput } from "./huge-output.ts";
import { journal } from "./journal.ts";
import { kill } from "./kill.ts";
import { killFamily } from "./kill-family.ts";
import { killPoints } from "./kill-points.ts";
import { mcpServers } from "./mcp-servers.ts";
import { rateLimit } from "./rate-limit.ts";
import { remote } from "./remote.ts";
import { sameBytes } from "./same-bytes.ts";
import { server } from "./server.ts";
import { shellFuzz, shellFuzzRemote, shellFuzzRemoteSandboxed, shellFuzzSandboxed } from "./shell-fuzz.ts";
import { steering } from "./steering.ts";
import { streamSplit } from "./stream-split.ts";
import { swapRace } from "./swap-race.ts";
import { twoProcesses } from "./two-processes.ts";
import { wakeUps } from "./wake-ups.ts";
import { writeErrors } from "./write-errors.ts";

/** Campaigns, with their default counts. */
const campaigns: Readonly<Record<string, { readonly run: Campaign; readonly count: number }>> = {
  kill: { run: kill, count: 1_000 },
  "kill-points": { run: killPoints, count: 500 },
  "kill-family": { run: killFamily, count: 1_000 },
  steering: { run: steering, count: 200 },
  server: { run: server, count: 50 },
  remote: { run: remote, count: 1 },
  "wake-ups": { run: wakeUps, count: 100 },
  abort: { run: abort, count: 1 },
  "abort-family": { run: abortFamily, count: 1 },
  "api-faults": { run: apiFaults, count: 500 },
  "api-faults-family": { run: apiFaultsFamily, count: 200 },
  "rate-limit": { run: rateLimit, count: 6 },
  "stream-split": { run: streamSplit, count: 40 },
  "full-disk": { run: fullDisk, count: 30 },
  "write-errors": { run: writeErrors, count: 80 },
  damage: { run: damage, count: 300 },
  "two-processes": { run: twoProcesses, count: 50 },
  "huge-output": { run: hugeOutput, count: 1 },
  "mcp-servers": { run: mcpServers, count: 300 },
  "swap-race": { run: swapRace, count: 50 },
  "same-bytes": { run: sameBytes, count: 200 },
  "shell-fuzz": { run: shellFuzz, count: 100_000 },
  "shell-fuzz-sandboxed": { run: shellFuzzSandboxed, count: 100_000 },
  "shell-fuzz-remote": { run: shellFuzzRemote, count: 100_000 },
  "shell-fuzz-remote-sandboxed": { run: shellFuzzRemoteSandboxed, count: 100_000 },
  journal: { run: journal, count: 500 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, count: { type: "string" }, seconds: { type: "string" } },
});
const seed = numberOf("seed", values.seed, 1);
const seconds = numberOf("seconds", values.seconds, 3_600);
const unknown = positionals.filter((name) => !Object.hasOwn(campaigns, name));
if (unknown.length > 0) fail(`Unknown campaign "${unknown[0]}". Use ${Object.keys(campaigns).join(", ")}.`);
const endAt = performance.now() + seconds * 1_000;
const chosen = positionals.length > 0 ? positionals : Object.keys(campaigns);
if (process.env["RETINUE_CLI"] === undefined) build();
let failed = false;
for (const [index, name] of chosen.entries()) {
  const campaign = campaigns[name];
  if (campaign === undefined) continue;
  const count = numberOf("count", values.count, campaign.count);
  const startedAt = performance.now();
  // Each campaign gets an equal share of the remaining time.
  const until = startedAt + (endAt - startedAt) / (chosen.length - index);
  const report = await campaign.run({ seed, count, until });
  failed ||= hasFailed(report);
  console.log(describe(name, { report, seconds: (performance.now() - startedAt) / 1_000 }));
}
process.exitCode = failed ? 1 : 0;

function hasFailed({ passed, run, work, skipped }: CampaignReport): boolean {
  const idle = Object.values(work).every((amount) => amount === 0);
  return passed < run || (skipped === undefined && (run === 0 || idle));
}

function describe(name: string, { report, seconds: took }: { report: CampaignReport; seconds: number }): string {
  const { passed, run, firstFailure, work, skipped } = report;
  const done = Object.entries(work).map(([what, amount]) => `${amount} ${what}`);
  return [
    `${name}: ${passed} / ${run} from seed ${seed} in ${took.toFixed(0)} s (${done.join(", ") || "no work was done"})`,
    ...(skipped ?? []).map((what) => `  SKIPPED ${what}`),
    ...(firstFailure === undefined ? [] : [`  first failure: ${firstFailure}`]),
  ].join("\n");
}

/** Builds the program that the campaigns run, unless RETINUE_CLI names another one. */
function build(): void {
  const program = join(import.meta.dirname, "../../scripts/build.mjs");
  const { status } = spawnSync(process.execPath, [program, "--if-stale", "--cli-only"], { stdio: "inherit" });
  if (status !== 0) fail("the build failed, see above.");
}

function numberOf(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) fail(`--${name} must be a whole number, not "${text}".`);
  return value;
}

function fail(message: string): never {
  console.error(`torture: ${message}`);
  process.exit(2);
}
