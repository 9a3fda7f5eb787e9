import { spawnSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reply } from "../src/testing/index.ts";
import { cacheCase } from "./cache-case.ts";
import { type Client, type Measured, median, newPlace, run } from "./client.ts";
import { decisionCase } from "./decision-case.ts";
import { definitionsCase } from "./definitions-case.ts";
import { delegationCase } from "./delegation-case.ts";
import type { Figure } from "./figure.ts";
import { forkCase } from "./fork-case.ts";
import { grepCase } from "./grep-case.ts";
import { libraryCase } from "./library-case.ts";
import { pushbackCase } from "./pushback-case.ts";
import { sandboxCase } from "./sandbox-case.ts";
import { serverCase } from "./server-case.ts";
import { sessionCase } from "./session-case.ts";
import { terminalCase } from "./terminal-case.ts";
import { viewCase } from "./view-case.ts";
import { webCase } from "./web-case.ts";
import { workerCase } from "./worker-case.ts";

/**
 * The order matters: right after thousands of files have been deleted, a file system takes longer to create new ones.
 * Cases that create many files therefore run before cases that delete many.
 */
export const cases: Record<string, (isShort: boolean) => Promise<Figure[]>> = {
  delegation: delegationCase,
  start: startCase,
  help: helpCase,
  library: libraryCase,
  gap: gapCase,
  long: longCase,
  resume: resumeCase,
  sandbox: sandboxCase,
  decision: decisionCase,
  pushback: pushbackCase,
  fork: forkCase,
  cache: cacheCase,
  definitions: definitionsCase,
  grep: grepCase,
  session: sessionCase,
  worker: workerCase,
  view: viewCase,
  server: serverCase,
  terminal: terminalCase,
  web: webCase,
};

/** Cases that have a short form. */
export const shortCases = ["delegation", "start"];

const text = (said: string): Reply => ({ content: said });
const readCall = (turn: number, cwd: string): Reply => ({
  content: [{ tool: "Read", input: { file_path: join(cwd, "file.txt"), offset: turn, limit: 4 } }],
});

/** Alternates between the two clients, so that a busy moment affects both. */
async function both(rounds: number, job: (client: Client) => Promise<Measured>): Promise<Record<Client, Measured[]>> {
  const measured: Record<Client, Measured[]> = { retinue: [], baseline: [] };
  for (let round = 0; round < rounds; round += 1) {
    measured.baseline.push(await job("baseline"));
    measured.retinue.push(await job("retinue"));
  }
  return measured;
}

async function startCase(isShort: boolean): Promise<Figure[]> {
  const reply = () => text("done");
  const times = await both(isShort ? 9 : 21, (client) => run({ client, reply }));
  const used = await both(5, (client) => run({ client, reply, usage: true }));
  const first = (client: Client) => median(times[client].map((one) => one.startToFirstRequest));
  const memory = (client: Client) => median(used[client].map((one) => one.rssMb));
  return [
    {
      name: "process start to first request",
      ours: first("retinue"),
      baseline: first("baseline"),
      unit: "ms",
      limit: 2.6,
    },
    {
      name: "peak memory of a one-turn run",
      ours: memory("retinue"),
      baseline: memory("baseline"),
      unit: "MB",
      limit: 1.45,
    },
    {
      name: "first request with all tools",
      ours: times.retinue[0]?.firstRequestBytes ?? 0,
      baseline: 0,
      unit: "bytes",
      limit: 20_480,
      kind: "value",
    },
  ];
}

async function helpCase(): Promise<Figure[]> {
  const program = fileURLToPath(new URL("../dist/cli.cjs", import.meta.url));
  const bare: number[] = [];
  const help: number[] = [];
  for (let round = 0; round < 21; round += 1) {
    bare.push(timeOf(["-e", "0"]));
    help.push(timeOf([program, "--help"]));
  }
  return [{ name: "--help, against bare Node", ours: median(help), baseline: median(bare), unit: "ms", limit: 2 }];
}

function timeOf(args: readonly string[]): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, args, { stdio: "ignore" });
  return performance.now() - startedAt;
}

async function gapCase(): Promise<Figure[]> {
  const turns = 200;
  const reads = await both(5, (client) =>
    run({
      client,
      reply: (turn, cwd) => (turn > turns ? text("done") : readCall(turn, cwd)),
      flags: ["--max-turns", "9999"],
    }),
  );
  const writeCall = (turn: number, cwd: string): Reply => ({
    content: [{ tool: "Write", input: { file_path: join(cwd, `new-${turn}.txt`), content: `content ${turn}` } }],
  });
  const writes = await both(3, (client) =>
    run({
      client,
      reply: (turn, cwd) => (turn > turns ? text("done") : writeCall(turn, cwd)),
      flags: ["--max-turns", "9999", "--permission-mode", "acceptEdits"],
    }),
  );
  const gap = (measured: readonly Measured[]) => median(measured.flatMap((one) => one.gaps.slice(20)));
  const sync = diskSync();
  // The limit for one Read, plus the time for syncing the record of the call and the written file, plus a millisecond.
  const budget = 1.6 * gap(reads.baseline) + 2 * sync + 1;
  return [
    {
      name: "answer to next request, one Read",
      ours: gap(reads.retinue),
      baseline: gap(reads.baseline),
      unit: "ms",
      limit: 1.6,
    },
    {
      name: `answer to next request, one Write, against 1.6 × the baseline's Read + 2 × fdatasync (${sync.toFixed(2)} ms) + 1 ms`,
      ours: gap(writes.retinue),
      baseline: budget,
      unit: "ms",
      limit: 1,
    },
  ];
}

/** Returns the median time of one fdatasync after a small append, in milliseconds. */
function diskSync(): number {
  const { cwd, remove } = newPlace();
  const file = openSync(join(cwd, "sync.bin"), "a");
  const times: number[] = [];
  for (let index = 0; index < 200; index += 1) {
    writeSync(file, "x".repeat(600));
    const startedAt = performance.now();
    fdatasyncSync(file);
    times.push(performance.now() - startedAt);
  }
  closeSync(file);
  remove();
  return median(times);
}

async function longCase(): Promise<Figure[]> {
  const turns = 1000;
  const reply = (turn: number, cwd: string): Reply => (turn > turns ? text("done") : readCall(turn, cwd));
  const long = await both(3, (client) => run({ client, reply, flags: ["--max-turns", "9999"], usage: true }));
  const short = await both(3, (client) => run({ client, reply: () => text("done"), usage: true }));
  const perTurn = (client: Client) =>
    (median(long[client].map((one) => one.cpuMs)) - median(short[client].map((one) => one.cpuMs))) / turns;
  const gapAround = (turn: number) => median(long.retinue.flatMap((one) => one.gaps.slice(turn - 50, turn + 50)));
  return [
    {
      name: "processor time per turn over 1,000 turns",
      ours: perTurn("retinue"),
      baseline: perTurn("baseline"),
      unit: "ms",
      limit: 1.8,
    },
    {
      name: "answer to next request at turn 1,000, against turn 100",
      ours: gapAround(950),
      baseline: gapAround(100),
      unit: "ms",
      limit: 1.3,
    },
  ];
}

async function resumeCase(): Promise<Figure[]> {
  const turns = 1000;
  const place = newPlace();
  const reply = (turn: number, cwd: string): Reply => (turn > turns ? text("done") : readCall(turn, cwd));
  await run({ client: "retinue", reply, place, flags: ["--max-turns", "9999"] });
  const fresh: number[] = [];
  const resumed: number[] = [];
  for (let round = 0; round < 15; round += 1) {
    fresh.push((await run({ client: "retinue", reply: () => text("done") })).startToFirstRequest);
    const again = await run({ client: "retinue", reply: () => text("done"), place, flags: ["--continue"] });
    resumed.push(again.startToFirstRequest);
  }
  place.remove();
  return [
    {
      name: "resume of 1,000 turns: start to first request, against a fresh start",
      ours: median(resumed),
      baseline: median(fresh),
      unit: "ms",
      limit: 1.5,
    },
  ];
}
