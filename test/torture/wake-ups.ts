import { openSession, type Session } from "../../src/app/index.ts";
import type { Line } from "../../src/protocol/index.ts";
import { checkNotices } from "../reliability/check-family.ts";
import { checkEnds, checkNumbers } from "../reliability/check-invariants.ts";
import { type Family, readFamily } from "../reliability/family.ts";
import { createPlace, type Place } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";
import { createNursery, type Nursery, type NurseryPlan } from "./nursery.ts";

/**
 * Background children end in the middle of a turn, during an approval request, while the parent waits, or at a
 * restart. Each end is reported once, and each message is read once.
 */
export const wakeUps: Campaign = (options) =>
  runSeeds(options, (seed) => wakeOne(seed, { children: 50, messages: 10 }), { workers: 1 });

/** The same campaign with fewer children and messages. */
export const wakeUpsQuickly: Campaign = (options) =>
  runSeeds(options, (seed) => wakeOne(seed, { children: 20, messages: 4 }), { workers: 1 });

async function wakeOne(seed: number, { children, messages }: Omit<NurseryPlan, "random">): Promise<Verdict> {
  const random = seededRandom(seed);
  const place = createPlace();
  const nursery = createNursery({ random, children, messages });
  const { violations, transcript, lives } = await liveToTheEnd(place, nursery);
  const family = readFamily(transcript);
  const main = family.get("main") ?? [];
  for (const [agentId, lines] of family) {
    const found = [...checkNumbers(lines), ...checkEnds(lines, undefined)];
    violations.push(...found.map((text) => `${agentId}: ${text}`));
  }
  violations.push(...checkNotices(main, family), ...checkToldOnce(main, nursery));
  const words = checkWords(family, nursery);
  violations.push(...words.violations);
  const launched = main.filter((line) => line.type === "tool.ended" && line.result.facts?.launched).length;
  if (launched < children) violations.push(`only ${launched} were launched`);
  const told = main.flatMap((line) => (line.type === "notices.delivered" ? line.notices : [])).length;
  if (violations.length === 0) place.remove();
  else violations.push(`see ${place.root}`);
  return { violations, work: { launched, told, messages: words.read, lives, approvals: nursery.approvals() } };
}

const mostRuns = 100;

/** Runs until everything is done. A restart interrupts the run and reopens the session, as a user would. */
async function liveToTheEnd(place: Place, nursery: Nursery) {
  const violations: string[] = [];
  let session = await open(place, nursery);
  const transcript = session.transcriptPath ?? "";
  let lives = 1;
  for (let runs = 1; ; runs += 1) {
    const run = session.prompt(runs === 1 ? "MAIN: raise them." : "MAIN: go on.");
    nursery.onRestart(() => run.stop("interrupted"));
    const { reason, message } = await run.result;
    if (reason === "done" && nursery.isOver()) break;
    if (runs === mostRuns) violations.push(`not done after ${runs} runs`);
    if (reason !== "done" && reason !== "interrupted") violations.push(`run ${runs} ended with ${reason}: ${message}`);
    if (violations.length > 0) break;
    if (reason === "done") continue;
    await session.close();
    session = await open(place, nursery, session.id);
    lives += 1;
  }
  await session.close();
  return { violations, transcript, lives };
}

function open(place: Place, nursery: Nursery, resume?: string): Promise<Session> {
  return openSession({
    home: place.home,
    cwd: place.cwd,
    environment: { PATH: process.env["PATH"], HOME: place.root },
    model: nursery.model,
    approvals: nursery.person,
    maxTurns: 1_000,
    settings: { subagents: { maxSpawns: 10_000 } },
    ...(resume === undefined ? {} : { resume }),
  });
}

/** Checks that the main agent's last request contains each notice as often as it was recorded. */
function checkToldOnce(main: readonly Line[], nursery: Nursery): string[] {
  const conversation = nursery.lastConversation("main");
  const texts = main.flatMap((line) => (line.type === "notices.delivered" ? [line.text] : []));
  return texts.flatMap((text) => {
    // An agent that was resumed may end twice with the same text.
    const lines = texts.filter((each) => each === text).length;
    const count = conversation.split(text).length - 1;
    return count === lines
      ? []
      : [`I6 a notice recorded ${lines} times is ${count} times in the last request: ${text}`];
  });
}

function checkWords(family: Family, nursery: Nursery): { violations: string[]; read: number } {
  const violations: string[] = [];
  let read = 0;
  const main = family.get("main") ?? [];
  for (const { word, child } of nursery.sent()) {
    const callId = callWith(main, word);
    const ended = main.find((line) => line.type === "tool.ended" && line.callId === callId);
    const outcome = ended?.type === "tool.ended" ? ended.result.outcome : undefined;
    const recorded = [...family.values()].flat().filter((line) => isWord(line, word)).length;
    const seen = nursery.lastConversation(child).split(word).length - 1;
    const where = `${word} for ${child} (${outcome}): recorded ${recorded} times, read ${seen} times`;
    if (recorded > 1 || seen > 1) violations.push(`I6 twice: ${where}`);
    else if (outcome === "ok" && (recorded !== 1 || (seen !== 1 && !wasStopped(family, child))))
      violations.push(`I6 lost: ${where}`);
    else read += seen;
  }
  return { violations, read };
}

/** Returns whether an agent was stopped. Messages to a stopped agent stay in its transcript until it is resumed. */
function wasStopped(family: Family, name: string): boolean {
  const lines = [...family.values()].find(([first]) => first?.type === "agent.created" && first.name === name);
  const last = lines?.findLast(({ type }) => type !== "run.cleaned");
  return last?.type === "run.ended" && last.outcome === "stopped";
}

function callWith(main: readonly Line[], word: string): string | undefined {
  for (const line of main) {
    if (line.type !== "model.ended") continue;
    const call = line.message.content.find((block) => block.type === "tool_call" && block.inputJson.includes(word));
    if (call?.type === "tool_call") return call.callId;
  }
  return undefined;
}

function isWord(line: Line, word: string): boolean {
  return line.type === "prompt.received" && JSON.stringify(line.content).includes(word);
}
