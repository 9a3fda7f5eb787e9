import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { type Ended, runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, isDone, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { FORBIDDEN, planWork, type Random, workFlags } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/** The command line is killed at random moments, several times, and resumed to the end. */
export const kill: Campaign = (options) => runSeeds(options, killAndResume);

async function killAndResume(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const place = createPlace({ sandbox: seed % 2 === 0 ? "auto" : "off" });
  const steps = 4 + Math.floor(random() * 5);
  const server = await createApiServer({ script: planWork(place, { random, steps }), seed });
  const lives: Ended[] = [];
  try {
    const killed = 1 + Math.floor(random() * 3);
    while (lives.length < killed && !isDone(place)) {
      lives.push(await live(place, server, { kill: chooseKill(random, steps) }));
    }
    const kills = lives.filter(({ signal }) => signal === "SIGKILL").length;
    const wasDone = isDone(place);
    const last = await live(place, server, wasDone ? { words: ["Is there anything else?"] } : {});
    lives.push(last);
    const violations = last.code === 0 ? [] : [`the resume ended with exit code ${last.code}: ${last.stderr}`];
    const transcript = transcriptPath(place);
    if (transcript === undefined) return { violations: [...violations, "there is no transcript"], work: {} };
    const { requests } = server;
    const checked = checkInvariants({
      place,
      transcript,
      requests,
      seen: seenIn(lives),
      forbidden: FORBIDDEN,
      ends: "done",
    });
    violations.push(...checked.violations);
    // There can be one more turn: after a kill between the last answer and the end of the run, the model gets a message
    // about it.
    if (checked.work.turns < steps + 1) violations.push(`only ${checked.work.turns} turns`);
    if (violations.length === 0) place.remove();
    else violations.push(`see ${place.root}`);
    return { violations, work: { kills, ...checked.work } };
  } finally {
    await server.close();
  }
}

type Kill =
  | { readonly after: "request"; readonly count: number; readonly delayMs: number }
  | { readonly after: "lines"; readonly count: number }
  | { readonly after: "start"; readonly delayMs: number };

function chooseKill(random: Random, steps: number): Kill {
  const kind = random();
  if (kind < 0.4)
    return { after: "request", count: 1 + Math.floor(random() * steps), delayMs: Math.floor(random() * 40) };
  if (kind < 0.8) return { after: "lines", count: 1 + Math.floor(random() * steps * 5) };
  return { after: "start", delayMs: 150 + Math.floor(random() * 800) };
}

interface Life {
  readonly kill?: Kill;
  /** Prompt for the resumed session. Without a prompt, the session continues its unfinished work. */
  readonly words?: readonly string[];
}

/** Runs one process until it ends or is killed. */
async function live(place: Place, server: ApiServer, { kill, words = [] }: Life): Promise<Ended> {
  const transcript = transcriptPath(place);
  const task = transcript === undefined ? ["Do the work."] : ["--resume", sessionIdOf(transcript), ...words];
  const args = ["-p", ...task, ...workFlags, "--output-format", "stream-json"];
  const before = server.requests.length;
  if (kill === undefined) return runCommandLine({ place, url: server.url, args });
  const { child, ended } = startCommandLine({ place, url: server.url, args });
  const over = new AbortController();
  void ended.then(() => over.abort());
  await Promise.race([ended, moment(kill, { place, server, before, signal: over.signal })]);
  child.kill("SIGKILL");
  return ended;
}

interface Surroundings {
  readonly place: Place;
  readonly server: ApiServer;
  readonly before: number;
  readonly signal: AbortSignal;
}

async function moment(kill: Kill, { place, server, before, signal }: Surroundings): Promise<void> {
  if (kill.after === "start") return pause(kill.delayMs);
  if (kill.after === "request") {
    await server.waitForRequest(before + kill.count).catch(() => undefined);
    return pause(kill.delayMs);
  }
  const already = countLines(place);
  while (!signal.aborted && countLines(place) < already + kill.count) await pause(1);
}

async function pause(milliseconds: number): Promise<void> {
  await wait(milliseconds);
}

function countLines(place: Place): number {
  const path = transcriptPath(place);
  return path === undefined ? 0 : readFileSync(path, "utf8").split("\n").length - 1;
}

/** Returns the calls and results that were printed. The last line of a killed process may be incomplete. */
export function seenIn(lives: readonly Ended[]): { calls: string[]; results: string[] } {
  const seen = { calls: [] as string[], results: [] as string[] };
  for (const { stdout } of lives) {
    for (const text of stdout.split("\n").slice(0, -1)) {
      const { message } = JSON.parse(text) as { message?: { content: { type: string; [key: string]: string }[] } };
      for (const block of message?.content ?? []) {
        if (block.type === "tool_use") seen.calls.push(block["id"] ?? "");
        if (block.type === "tool_result") seen.results.push(block["tool_use_id"] ?? "");
      }
    }
  }
  return seen;
}
