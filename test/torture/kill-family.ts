import { setTimeout as wait } from "node:timers/promises";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkFamily } from "../reliability/check-family.ts";
import { type Ended, runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { planFamily, readFamily } from "../reliability/family.ts";
import { createPlace, isDone, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import type { Random } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";
import { seenIn } from "./kill.ts";

const children = 8;
const steps = 2;

/** A main agent and 8 children of 3 turns each are killed at random moments, then resumed. */
export const killFamily: Campaign = (options) => runSeeds(options, killAndResume);

async function killAndResume(seed: number): Promise<Verdict> {
  const random = seededRandom(seed);
  const place = createPlace({ sandbox: seed % 2 === 0 ? "auto" : "off" });
  const background = Math.floor(random() * 4);
  const server = await createApiServer({ script: planFamily({ random, children, steps, background }), seed });
  const lives: Ended[] = [];
  try {
    const killed = 1 + Math.floor(random() * 3);
    while (lives.length < killed && !isDone(place)) lives.push(await live(place, server, { kill: chooseKill(random) }));
    const kills = lives.filter(({ signal }) => signal === "SIGKILL").length;
    const words = isDone(place) ? ["Is there anything else?"] : [];
    const last = await live(place, server, { words });
    lives.push(last);
    // Exit code 3 is accepted: a background agent was cut because its process was killed.
    const violations =
      last.code === 0 || last.code === 3 ? [] : [`the resume ended with exit code ${last.code}: ${last.stderr}`];
    const transcript = transcriptPath(place);
    if (transcript === undefined) return { violations: [...violations, "there is no transcript"], work: {} };
    const { requests } = server;
    const checked = checkFamily({ place, transcript, requests, seen: seenIn(lives), ends: "done" });
    violations.push(...checked.violations);
    const { effects, unknown } = checked.work;
    if (effects + unknown < children) violations.push(`only ${effects} effects and ${unknown} unknown`);
    if (violations.length === 0) place.remove();
    else violations.push(`see ${place.root}`);
    return { violations, work: { kills, children, ...checked.work } };
  } finally {
    await server.close();
  }
}

type Kill =
  | { readonly after: "request"; readonly count: number; readonly delayMs: number }
  | { readonly after: "lines"; readonly count: number };

function chooseKill(random: Random): Kill {
  const requests = children * (steps + 1) + 2;
  if (random() < 0.5)
    return { after: "request", count: 1 + Math.floor(random() * requests), delayMs: Math.floor(random() * 40) };
  return { after: "lines", count: 1 + Math.floor(random() * requests * 6) };
}

interface Life {
  readonly kill?: Kill;
  readonly words?: readonly string[];
}

async function live(place: Place, server: ApiServer, { kill, words = [] }: Life): Promise<Ended> {
  const transcript = transcriptPath(place);
  const task = transcript === undefined ? ["Do the work."] : ["--resume", sessionIdOf(transcript), ...words];
  const args = ["-p", ...task, "--allowed-tools", "Bash", "--output-format", "stream-json"];
  const before = server.requests.length;
  const already = countLines(place);
  if (kill === undefined) return runCommandLine({ place, url: server.url, args });
  const { child, ended } = startCommandLine({ place, url: server.url, args });
  const over = new AbortController();
  void ended.then(() => over.abort());
  const moment = async (): Promise<void> => {
    if (kill.after === "request") {
      await server.waitForRequest(before + kill.count).catch(() => undefined);
      await wait(kill.delayMs);
      return;
    }
    while (!over.signal.aborted && countLines(place) < already + kill.count) await wait(5);
  };
  await Promise.race([ended, moment()]);
  child.kill("SIGKILL");
  return ended;
}

/** Returns the number of lines that all agents in a session have written so far. */
export function countLines(place: Place): number {
  const path = transcriptPath(place);
  if (path === undefined) return 0;
  return [...readFamily(path).values()].reduce((sum, lines) => sum + lines.length, 0);
}
