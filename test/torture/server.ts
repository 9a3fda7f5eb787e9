import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { lockOwner } from "../../src/lib/index.ts";
import { createApiServer } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { type CommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, isDone, type Place, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { FORBIDDEN, planWork, type Random } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/** A server and a worker on another "machine" are killed at random moments, and started again, until the work is done. */
export const server: Campaign = (options) => runSeeds(options, killServerAndWorker);

/** Rules on the worker's machine, with the same effect as the flags of other campaigns. */
const rules = { allow: ["Bash", "Edit", "Write"], deny: ["Bash(touch *)"] };

const LONGEST_MS = 40_000;

async function killServerAndWorker(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const there = createPlace();
  const here: Place = { ...there, home: join(there.root, "server"), cwd: join(there.root, "elsewhere") };
  mkdirSync(here.cwd);
  writeFileSync(join(there.home, "settings.json"), JSON.stringify({ permissions: rules, sandbox: "off" }));
  const steps = 4 + Math.floor(random() * 5);
  const api = await createApiServer({ script: planWork(there, { random, steps }), seed });
  const machines = await startMachines({ here, there, url: api.url });
  const stored = { home: join(here.home, "remote", "box") };
  try {
    await machines.startSession();
    const kills = 1 + Math.floor(random() * 4);
    for (let count = 0; count < kills; count += 1) {
      await wait(random() * 500);
      await machines.kill(random);
    }
    const until = performance.now() + LONGEST_MS;
    while (!isDone(stored) && performance.now() < until) await wait(100);
    const isLate = !isDone(stored);
    await machines.end();
    const transcript = transcriptPath(stored);
    if (transcript === undefined) return { violations: ["there is no transcript"], work: {} };
    const { requests } = api;
    const checked = checkInvariants({ place: there, transcript, requests, forbidden: FORBIDDEN, ends: "done" });
    // If the server was killed after the work was done, the session is not opened again, and its lock file remains. A
    // lock whose owner is dead blocks no other process.
    const isFree = lockOwner(join(transcript.replace(/\.jsonl$/, ""), "lock")) === undefined;
    const found = checked.violations.filter((each) => !(isFree && each === "I8 the lock still exists"));
    const violations = [...(isLate ? ["the work was not done in time"] : []), ...found];
    if (checked.work.turns < steps + 1) violations.push(`only ${checked.work.turns} turns`);
    if (violations.length === 0) there.remove();
    else violations.push(`see ${there.root}`);
    return { violations, work: { kills, ...checked.work } };
  } finally {
    await machines.end();
    await api.close();
  }
}

interface Machines {
  startSession(): Promise<void>;
  /** Kills the server or the worker, and starts it again. */
  kill(random: Random): Promise<void>;
  end(): Promise<void>;
}

async function startMachines({ here, there, url }: { here: Place; there: Place; url: string }): Promise<Machines> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const startServer = () => startCommandLine({ place: here, url, args: ["serve", "--port", String(port), "--json"] });
  const startWorker = () =>
    startCommandLine({
      place: there,
      url,
      args: ["worker", "--server", address, "--name", "box"],
      environment: { RETINUE_TOKEN: readFileSync(join(here.home, "worker-token"), "utf8").trim() },
    });
  const tokenOf = async (program: CommandLine): Promise<string> => {
    while (!program.stdout().includes("\n")) await Promise.race([wait(20), program.ended.then(died)]);
    return JSON.parse(program.stdout()).token;
  };
  let serving = startServer();
  let token = await tokenOf(serving);
  let working = startWorker();
  await working.told("Connected");

  return {
    async startSession() {
      const body = JSON.stringify({ prompt: "Do the work.", worker: "box", permissionMode: "dontAsk" });
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const response = await fetch(`${address}/session`, { method: "POST", headers, body });
      if (response.status !== 201) throw new Error(`The session did not start: ${await response.text()}`);
    },
    async kill(random) {
      const isServer = random() < 0.5;
      const program = isServer ? serving : working;
      program.child.kill("SIGKILL");
      await program.ended;
      if (isServer) {
        serving = startServer();
        token = await tokenOf(serving);
      } else working = startWorker();
    },
    async end() {
      for (const program of [serving, working]) {
        if (program.child.exitCode === null && program.child.signalCode === null) program.child.kill("SIGTERM");
        await program.ended;
      }
    },
  };
}

function died({ stderr }: { readonly stderr: string }): never {
  throw new Error(`The server did not start: ${stderr}`);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
