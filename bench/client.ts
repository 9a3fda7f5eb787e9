import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApiServer, type RecordedRequest, type Reply } from "../src/testing/index.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const program = process.env["RETINUE_BENCH_PROGRAM"] ?? join(here, "..", "dist", "cli.cjs");

export type Client = "retinue" | "baseline";

/** Measurements of one process that talks to a new server until the script ends. Times are in milliseconds. */
export interface Measured {
  readonly startToFirstRequest: number;
  /** Times between the last byte of an answer and the beginning of the next request. */
  readonly gaps: readonly number[];
  readonly wall: number;
  readonly cpuMs: number;
  readonly rssMb: number;
  readonly firstRequestBytes: number;
  /** Processor time of this process, which runs the server, during the run. */
  readonly serverCpuMs: number;
}

export interface Place {
  readonly cwd: string;
  readonly home: string;
  remove(): void;
}

export interface Job {
  readonly client: Client;
  /** Returns the answer to the n-th request, starting at 1. A text-only answer ends the run. */
  readonly reply: (turn: number, cwd: string, request: RecordedRequest) => Reply | Promise<Reply>;
  readonly flags?: readonly string[];
  readonly place?: Place;
  /** Whether to measure processor time and memory, which slows down startup. */
  readonly usage?: boolean;
  /** Command and options that start the program, such as a shell that sets limits. */
  readonly under?: readonly string[];
  /** Program to run as the baseline instead of `baseline-client.mjs`, and its arguments after the server's address. */
  readonly baseline?: { readonly program: string; readonly args: readonly string[] };
}

export function newPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-bench-")));
  const cwd = mkdtempSync(join(root, "work-"));
  const lines = Array.from({ length: 5000 }, (_, index) => `line ${index} of a file that is read again and again`);
  writeFileSync(join(cwd, "file.txt"), lines.join("\n"));
  return { cwd, home: join(root, "home"), remove: () => rmSync(root, { recursive: true, force: true }) };
}

export async function run(job: Job): Promise<Measured> {
  if (job.place !== undefined) return runIn(job.place, job);
  const place = newPlace();
  try {
    return await runIn(place, job);
  } finally {
    place.remove();
  }
}

async function runIn(place: Place, job: Job): Promise<Measured> {
  const { client, reply, usage = false } = job;
  const { cwd } = place;
  let firstRequestBytes = 0;
  const server = await createApiServer({
    record: "light",
    validate: false,
    now: () => performance.now(),
    script: (request, { ordinal }) => {
      if (ordinal === 1) firstRequestBytes = request.bodyBytes;
      return reply(ordinal, cwd, request);
    },
  });
  const usageFile = join(place.cwd, "..", "usage.json");
  const [command = "", ...args] = commandOf(place, { ...job, url: server.url });
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const child = spawn(command, args, {
    cwd,
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      RETINUE_HOME: place.home,
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: server.url,
      RETINUE_BENCH_USAGE: usageFile,
    },
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const wall = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { requests } = server;
  await server.close();
  if (code !== 0) throw new Error(`${client} exited with ${code}: ${errors}`);
  const gaps = requests.slice(1).map((request, index) => request.beganAt - (requests[index]?.lastByteAt ?? 0));
  const used = usage
    ? (JSON.parse(readFileSync(usageFile, "utf8")) as { cpuMs: number; rssMb: number })
    : { cpuMs: 0, rssMb: 0 };
  return {
    startToFirstRequest: (requests[0]?.beganAt ?? 0) - startedAt,
    gaps,
    wall,
    ...used,
    firstRequestBytes,
    serverCpuMs: (user + system) / 1000,
  };
}

function commandOf(
  place: Place,
  { client, flags = [], usage, under = [], baseline, url }: Job & { url: string },
): string[] {
  const imports = usage ? ["--import", join(here, "report-usage.mjs")] : [];
  const before = [...under, process.execPath, ...imports];
  if (client === "retinue")
    return [...before, program, "-p", "Do the job.", "--model", "anthropic/bench-model", ...flags];
  if (baseline) return [...before, join(here, baseline.program), url, ...baseline.args];
  return [...before, join(here, "baseline-client.mjs"), url, "Do the job.", headFile(place)];
}

/**
 * Writes the part of a request that precedes its messages, about as long as in Retinue's requests, so that the baseline
 * sends about the same number of bytes.
 */
function headFile({ cwd }: Place): string {
  const path = join(cwd, "..", "head.json");
  const tools = [{ name: "Read", description: "x".repeat(9_000), input_schema: { type: "object" } }];
  writeFileSync(
    path,
    JSON.stringify({ model: "bench-model", max_tokens: 32_000, stream: true, tools, system: "You help." }),
  );
  return path;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
