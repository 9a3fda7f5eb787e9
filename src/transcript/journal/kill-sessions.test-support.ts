import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Clock } from "../../ports/index.ts";
import type { DurableEvent } from "../../protocol/index.ts";
import { bundle } from "./bundle.test-support.ts";
import { openTranscript } from "./transcript.ts";

const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() };

function notice(message: string): DurableEvent {
  return { type: "notice.raised", code: "test", message };
}

export interface KillReport {
  readonly kills: number;
  /** Number of acknowledged lines that were checked. */
  readonly acknowledged: number;
  readonly torn: number;
  readonly failedRuns: number;
  readonly violations: readonly string[];
}

/** Kills writers with SIGKILL at random points, several times per session, and checks the files after each kill. */
export async function killSessions({ seed, count }: { seed: number; count: number }): Promise<KillReport> {
  const root = mkdtempSync(join(tmpdir(), "retinue-kill-"));
  const violations: string[] = [];
  const report = { kills: 0, acknowledged: 0, torn: 0, failedRuns: 0 };
  try {
    const program = bundle("write-until-killed", root);
    const cwd = join(root, "project");
    mkdirSync(cwd);
    const sessions = Math.ceil(count / livesOfASession);
    const livesOf = async (session: number) => {
      for (let life = 0; life < livesOfASession; life++) {
        const run = session * livesOfASession + life;
        if (run >= count) return;
        const place = { home: join(root, "home"), cwd, sessionId: `s${session}` };
        const mode = life === 0 ? "create" : "open";
        const found = await check(place, await writeAndKill(program, { place, mode, seed: seed + run }));
        report.kills += 1;
        report.acknowledged += found.acknowledged;
        report.torn += found.torn;
        if (found.violations.length > 0) report.failedRuns += 1;
        violations.push(...found.violations.map((text) => `seed ${seed + run}: ${text}`));
      }
    };
    let next = 0;
    const worker = async () => {
      while (next < sessions) await livesOf(next++);
    };
    await Promise.all([worker(), worker(), worker()]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return { ...report, violations };
}

const livesOfASession = 5;

interface Place {
  readonly home: string;
  readonly cwd: string;
  readonly sessionId: string;
}

interface Writer {
  readonly place: Place;
  readonly mode: string;
  readonly seed: number;
}

/** Returns the last acknowledged line of each agent. */
async function writeAndKill(program: string, { place, mode, seed }: Writer): Promise<Map<string, number>> {
  const { home, cwd, sessionId } = place;
  const child = spawn(process.execPath, [program, home, cwd, sessionId, mode, String(seed)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const known = new Map<string, number>();
  const enough = 1 + ((seed * 7919) % 60);
  let seen = 0;
  for await (const text of createInterface({ input: child.stdout })) {
    const [word, agent, id] = text.split(" ");
    // The pipe may end in the middle of a line.
    if ((word === "appended" || word === "synced") && agent !== undefined && /^\d+$/.test(id ?? "")) {
      known.set(agent, Math.max(known.get(agent) ?? 0, Number(id)));
    }
    if (++seen === enough) child.kill("SIGKILL");
  }
  await ended;
  return known;
}

async function check(place: Place, known: ReadonlyMap<string, number>) {
  const violations: string[] = [];
  let acknowledged = 0;
  if (known.size === 0) violations.push("the writer did nothing");
  const session = await openTranscript({ ...place, clock: systemClock });
  for (const [agent, id] of known) {
    const lines = await session.read(agent);
    acknowledged += id;
    if (lines.length < id) violations.push(`${agent} has only ${lines.length} of ${id} lines`);
    if (lines.some((line, index) => line.id !== String(index + 1))) violations.push(`${agent} has gaps`);
  }
  const torn = session.problems.filter(({ message }) => message.includes("cut off")).length;
  const other = session.problems.filter(({ line, message }) => line !== 0 && !message.includes("cut off"));
  violations.push(...other.map(({ message }) => message));
  await session.append("main", [notice("after the kill")]);
  await session.close();
  if (existsSync(join(session.path?.replace(/\.jsonl$/, "") ?? "", "lock")))
    violations.push("the lock was left behind");
  return { violations, acknowledged, torn };
}
