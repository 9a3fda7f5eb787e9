import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { RecordedRequest, Reply } from "../src/testing/index.ts";
import { type Client, type Measured, median, newPlace, run } from "./client.ts";
import type { Figure } from "./figure.ts";

const steps = 3;
const latencyMs = 200;

/** Measures many agents at once with 3 requests each, against a bare client that sends the same requests. */
export async function delegationCase(): Promise<Figure[]> {
  try {
    return await figuresOf();
  } finally {
    for (const remove of leftovers) remove();
  }
}

/**
 * Functions that delete the files of each run. They are called at the end because a file system takes longer to create
 * files right after thousands have been deleted.
 */
const leftovers: (() => void)[] = [];

async function figuresOf(): Promise<Figure[]> {
  const bytes = await requestBytes();
  const alone = await measure({ children: 1, rounds: 3, latencyMs, bytes });
  const sizes = [
    { children: 64, limit: 1.2, rounds: 5 },
    { children: 256, limit: 1.4, rounds: 3 },
    { children: 1_000, limit: 1.7, rounds: 3 },
  ];
  const figures: Figure[] = [];
  for (const { children, limit, rounds } of sizes) {
    const measured = await measure({ children, rounds, latencyMs, bytes });
    const took = (client: Client) => median(measured[client].map(({ wall }) => wall));
    const name = `${children} agents × ${steps} steps at ${latencyMs} ms`;
    figures.push({ name, ours: took("retinue"), baseline: took("baseline"), unit: "ms", limit });
    if (children === 256) figures.push(perAgent("cpuMs", { measured, alone, children }));
    if (children === 1_000)
      figures.push(perAgent("rssMb", { measured, alone, children }), serverShare(measured.baseline));
  }
  figures.push(await firstRequest(bytes), await fewDescriptors(bytes));
  return figures;
}

type Rounds = Record<Client, Measured[]>;

interface Setting {
  readonly children: number;
  readonly latencyMs: number;
  /** Sizes of the main agent's and a subagent's first requests, so that the baseline sends the same number of bytes. */
  readonly bytes: RequestBytes;
  readonly usage?: boolean;
  readonly under?: readonly string[];
}

interface RequestBytes {
  main: number;
  child: number;
}

async function measure({ rounds, ...setting }: Setting & { readonly rounds: number }): Promise<Rounds> {
  const measured: Rounds = { retinue: [], baseline: [] };
  for (let round = 0; round < rounds; round += 1) {
    measured.baseline.push(await delegate("baseline", { usage: true, ...setting }));
    measured.retinue.push(await delegate("retinue", { usage: true, ...setting }));
  }
  return measured;
}

async function requestBytes(): Promise<RequestBytes> {
  const bytes = { main: 0, child: 0 };
  await delegate("retinue", { children: 1, latencyMs: 0, bytes }, (request, who) => {
    if (bytes[who] === 0) bytes[who] = request.bodyBytes;
  });
  return bytes;
}

/** Measures one run. Throws unless every agent's report has reached the main agent. */
async function delegate(
  client: Client,
  { children, latencyMs: delay, bytes, usage = false, under = [] }: Setting,
  onRequest: (request: RecordedRequest, who: keyof RequestBytes) => void = () => {},
): Promise<Measured> {
  const place = newPlace();
  leftovers.push(place.remove);
  const settings = join(place.cwd, "..", "settings.json");
  writeFileSync(settings, JSON.stringify({ subagents: { maxSpawns: children } }));
  let reports = 0;
  const reply = async (_: number, cwd: string, request: RecordedRequest): Promise<Reply> => {
    const who = request.rawBody.includes("Do the job.") ? "main" : "child";
    onRequest(request, who);
    const turn = count(request.rawBody, '"role":"assistant"') + 1;
    if (who === "main" && turn === 2) reports = count(request.rawBody, "This part is done.");
    const answer = who === "main" ? mainReply(turn, children) : childReply(turn, cwd);
    if (delay > 0) await wait(delay);
    return answer;
  };
  const head = (who: keyof RequestBytes) => headFile(join(place.cwd, "..", `${who}.json`), bytes[who]);
  const baseline = { program: "baseline-retinue.mjs", args: ["Do the job.", head("main"), head("child")] };
  const measured = await run({ client, reply, place, flags: ["--settings", settings], usage, under, baseline });
  if (reports !== children) throw new Error(`${client}: ${reports} reports from ${children} agents`);
  return measured;
}

function count(body: Buffer, text: string): number {
  let found = 0;
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + text.length)) found += 1;
  return found;
}

function mainReply(turn: number, children: number): Reply {
  if (turn > 1) return { content: "All done." };
  const calls = Array.from({ length: children }, (_, child) => ({
    tool: "Task",
    input: { description: `part ${child}`, prompt: `Do part ${child}.`, subagent_type: "general-purpose" },
  }));
  return { content: calls };
}

function childReply(turn: number, cwd: string): Reply {
  if (turn >= steps) return { content: "This part is done." };
  return { content: [{ tool: "Read", input: { file_path: join(cwd, "file.txt"), offset: turn, limit: 4 } }] };
}

/** Writes a request without its messages, about as large as that part of Retinue's requests. */
function headFile(path: string, bytes: number): string {
  const tools = [{ name: "Read", description: "x".repeat(Math.max(0, bytes - 300)), input_schema: { type: "object" } }];
  writeFileSync(
    path,
    JSON.stringify({ model: "bench-model", max_tokens: 32_000, stream: true, tools, system: "You help." }),
  );
  return path;
}

interface Comparison {
  readonly measured: Rounds;
  readonly alone: Rounds;
  readonly children: number;
}

function perAgent(what: "cpuMs" | "rssMb", { measured, alone, children }: Comparison): Figure {
  const extra = (client: Client) => {
    const of = (rounds: Rounds) => median(rounds[client].map((one) => one[what]));
    return (of(measured) - of(alone)) / (children - 1);
  };
  const [ours, baseline] = [extra("retinue"), extra("baseline")];
  const against = `${children} against 1`;
  // The target is 4 ms on a machine where the baseline takes 2.2 ms.
  if (what === "cpuMs")
    return { name: `processor time per extra agent, ${against}`, ours, baseline, unit: "ms", limit: 2.2 };
  const name = `memory per live agent, ${against} (baseline ${baseline.toFixed(2)} MB)`;
  return { name, ours: Number(ours.toFixed(3)), baseline: 0, unit: "MB", limit: 0.3, kind: "value" };
}

/** Returns the server's load. Above the limit, the figures would show the speed of the server instead of the client. */
function serverShare(baseline: readonly Measured[]): Figure {
  const share = median(baseline.map(({ serverCpuMs, wall }) => serverCpuMs / wall));
  const name = "share of one processor that the test server uses for the baseline's 1,000 agents";
  return { name, ours: Number(share.toFixed(2)), baseline: 0, unit: "", limit: 0.85, kind: "value" };
}

/**
 * Measures the time from the last byte of the main agent's answer to the first byte of its subagent's request. Each run
 * is a new process, so all code runs for the first time.
 */
async function firstRequest(bytes: RequestBytes): Promise<Figure> {
  const { retinue, baseline } = await measure({ children: 1, rounds: 9, latencyMs: 0, bytes, usage: false });
  const gap = (measured: readonly Measured[]) => median(measured.map(({ gaps }) => gaps[0] ?? Number.NaN));
  // The target is 10 ms on a machine where the baseline takes 3 ms.
  return { name: "spawn to first request", ours: gap(retinue), baseline: gap(baseline), unit: "ms", limit: 3.6 };
}

async function fewDescriptors(bytes: RequestBytes): Promise<Figure> {
  const children = 1_000;
  const under = ["sh", "-c", 'ulimit -n 256; exec "$0" "$@"'];
  const failure = await delegate("retinue", { children, latencyMs, bytes, under }).then(
    () => undefined,
    (error: unknown) => String(error),
  );
  if (failure !== undefined) process.stderr.write(`${failure.slice(0, 2_000)}\n`);
  const name = `unfinished runs of ${children} agents with 256 file descriptors`;
  return { name, ours: failure === undefined ? 0 : 1, baseline: 0, unit: "", limit: 0, kind: "value" };
}
