import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDirectoryWorker, systemClock } from "../src/app/index.ts";
import { createWorkerHub, type RemoteWorker } from "../src/link/index.ts";
import type { ToolExecutor, WorkerPort, WorkerSession } from "../src/ports/index.ts";
import type { Policy } from "../src/protocol/index.ts";
import { median } from "./client.ts";
import type { Figure } from "./figure.ts";

/**
 * Measures the time that a worker in another process adds to a call and to the decision on it. Alternates between that
 * worker and the same worker in this process.
 */
export async function workerCase(): Promise<Figure[]> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "retinue-bench-")));
  const cwd = realpathSync(mkdtempSync(join(place, "work-")));
  writeFileSync(join(cwd, "file.txt"), "one line\n".repeat(40));
  const environment = { PATH: process.env["PATH"], HOME: place, RETINUE_HOME: join(place, "home") };
  const { worker } = createDirectoryWorker({ name: "local", cwd, environment, report: () => {} });
  const connected = await connect({ cwd, environment });
  const sessions = [await open(worker, "local"), await open(connected.remote, "remote")] as const;
  try {
    const [local, remote] = sessions.map((session) => session.executor(cwd)) as [ToolExecutor, ToolExecutor];
    const figures: Figure[] = [];
    for (const [name, input, rounds] of calls) {
      const times = { local: [] as number[], remote: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        // Cleaning up after a call may overlap with the next call. The order therefore alternates, so that local and
        // remote calls come second equally often.
        if (round % 2 === 0) times.local.push(await timeOf(local, { name, input: input() }));
        times.remote.push(await timeOf(remote, { name, input: input() }));
        if (round % 2 === 1) times.local.push(await timeOf(local, { name, input: input() }));
      }
      const [here, there] = [median(times.local.slice(20)), median(times.remote.slice(20))];
      const label = `${name} on a worker, p50 ${there.toFixed(2)} ms, here ${here.toFixed(2)} ms: adds`;
      figures.push({ name: label, ours: round2(there - here), baseline: 0, unit: "ms", limit: 2, kind: "value" });
    }
    const baseline = await readsAtOnce(local);
    figures.push({ name: "2,000 Reads at once", ours: await readsAtOnce(remote), baseline, unit: "ms", limit: 6 });
    const cancels: number[] = [];
    for (let round = 0; round < 20; round += 1) cancels.push(await cancelTime(remote));
    const cancel = round2(median(cancels));
    figures.push({ name: "cancelled call, p50", ours: cancel, baseline: 0, unit: "ms", limit: 50, kind: "value" });
    return figures;
  } finally {
    for (const session of sessions) await session.close();
    await connected.close();
    rmSync(place, { recursive: true, force: true });
  }
}

type Input = Readonly<Record<string, string>>;

/** Number of calls so far. */
let count = 0;

const calls: readonly (readonly [name: string, input: () => Input, rounds: number])[] = [
  ["Read", () => ({ file_path: "file.txt" }), 400],
  ["Write", () => ({ file_path: `new-${count}.txt`, content: "content" }), 300],
  ["Bash", () => ({ command: "true" }), 150],
];

const policy: Policy = {
  mode: "bypassPermissions",
  pool: ["Read", "Write", "Bash"],
  rules: [],
  workspaceRoots: [],
  readableRoots: [],
};

async function perform(executor: ToolExecutor, { name, input, signal = new AbortController().signal }: Performed) {
  count += 1;
  const call = { callId: `c${count}`, name, inputJson: JSON.stringify(input) };
  await executor.judge(call, policy);
  return executor.execute({ agentId: "main", call, policy }, () => {}, signal);
}

interface Performed {
  readonly name: string;
  readonly input: Input;
  readonly signal?: AbortSignal;
}

async function timeOf(executor: ToolExecutor, performed: Performed): Promise<number> {
  const startedAt = performance.now();
  const { outcome, content } = await perform(executor, performed);
  if (outcome !== "ok") throw new Error(JSON.stringify(content));
  return performance.now() - startedAt;
}

async function readsAtOnce(executor: ToolExecutor): Promise<number> {
  const startedAt = performance.now();
  const read = { name: "Read", input: { file_path: "file.txt" } };
  await Promise.all(Array.from({ length: 2_000 }, () => timeOf(executor, read)));
  return performance.now() - startedAt;
}

/** Returns the time from the abort of a running command until its result. */
async function cancelTime(executor: ToolExecutor): Promise<number> {
  const abort = new AbortController();
  const running = perform(executor, { name: "Bash", input: { command: "exec sleep 60" }, signal: abort.signal });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const startedAt = performance.now();
  abort.abort();
  const { outcome } = await running;
  if (outcome !== "cancelled") throw new Error(`The command ended with ${outcome}.`);
  return performance.now() - startedAt;
}

function open(worker: WorkerPort, sessionId: string): Promise<WorkerSession> {
  const results = {
    save: async (id: string) => `retinue://result/${id}`,
    saveFile: async (id: string) => `retinue://result/${id}`,
  };
  const sandbox = { mode: "off" } as const;
  return worker.open({ sessionId, since: 0, sandbox, passedVariables: [], trusted: true, results, report: () => {} });
}

interface Connected {
  readonly remote: RemoteWorker;
  close(): Promise<void>;
}

/** Starts `retinue worker` and waits until it is connected. */
async function connect({ cwd, environment }: { cwd: string; environment: NodeJS.ProcessEnv }): Promise<Connected> {
  const hub = createWorkerHub({ version: "bench", clock: systemClock });
  const server = createServer().on("upgrade", hub.accept);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const program = fileURLToPath(new URL("../dist/cli.cjs", import.meta.url));
  const words = [program, "worker", "--server", url, "--name", "remote"];
  const env = { ...environment, RETINUE_TOKEN: "none" };
  const child = spawn(process.execPath, words, { cwd, env, stdio: "ignore" });
  const remote = await new Promise<RemoteWorker>((resolve) => hub.onChange(resolve));
  return {
    remote,
    close: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
      await hub.close();
      server.close();
    },
  };
}

function round2(value: number): number {
  return Number(value.toFixed(2));
}
