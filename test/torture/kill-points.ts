import { spawnSync } from "node:child_process";
import { type ApiServer, createApiServer } from "../../src/testing/index.ts";
import { checkInvariants } from "../reliability/check-invariants.ts";
import { type Ended, runCommandLine, startCommandLine } from "../reliability/command-line.ts";
import { createPlace, isDone, type Place, sessionIdOf, transcriptPath } from "../reliability/place.ts";
import { FORBIDDEN, planWork, workFlags } from "../reliability/work-script.ts";
import type { Campaign, CampaignReport } from "./campaign.ts";

/** The process is killed when it enters the n-th system call of this kind, so the call is not made. */
interface Point {
  /**
   * Process to kill: the first, or one that resumes its session. With `journal`, only calls that use the transcript or
   * its log are counted.
   */
  readonly life: "first" | "resumed" | "resumed, journal";
  readonly call: string;
  readonly nth: number;
}

const steps = 4;
/**
 * Maximum number of points per kind. If a point kills nothing, there are no more calls of its kind, and the next kind
 * begins.
 */
const mostOfAKind = 200;

const kinds: readonly Pick<Point, "life" | "call">[] = [
  { life: "first", call: "mkdir" },
  { life: "first", call: "link" },
  { life: "first", call: "rename" },
  { life: "first", call: "unlink" },
  { life: "first", call: "fsync" },
  { life: "first", call: "fdatasync" },
  { life: "resumed", call: "link" },
  { life: "resumed", call: "rename" },
  { life: "resumed", call: "unlink" },
  { life: "resumed, journal", call: "write" },
  { life: "resumed, journal", call: "fdatasync" },
  { life: "resumed, journal", call: "fsync" },
  { life: "resumed, journal", call: "ftruncate" },
];

/**
 * Kills the first process, or one that resumes its session, at every point where it changes files, up
 * to `count` points.
 */
export const killPoints: Campaign = ({ count, until }) => enumerate(everyPoint, { count, until });

/** Kills at some points: while a session is created, between intent and result, and while a log is synced. */
export const fewKillPoints: Campaign = ({ until }) => enumerate(fewPoints, { count: Number.POSITIVE_INFINITY, until });

async function enumerate(
  points: (visit: (point: Point) => Promise<boolean>) => Promise<void>,
  { count, until }: { count: number; until: number },
): Promise<CampaignReport> {
  const work: Record<string, number> = {};
  const failures: string[] = [];
  let run = 0;
  if (spawnSync("strace", ["-V"]).status !== 0) {
    return { passed: 0, run, firstFailure: undefined, work, skipped: ["all kill points: strace is not installed"] };
  }
  await points(async (point) => {
    if (run >= count || performance.now() > until) return false;
    const { killed, violations } = await killAt(point);
    run += 1;
    const name = `kills at ${point.call}`;
    work[name] = (work[name] ?? 0) + (killed ? 1 : 0);
    if (violations.length > 0) {
      failures.push(`killed at ${point.call} ${point.nth} (${point.life}): ${violations.slice(0, 5).join("; ")}`);
    }
    return killed;
  });
  return { passed: run - failures.length, run, firstFailure: failures[0], work };
}

async function everyPoint(visit: (point: Point) => Promise<boolean>): Promise<void> {
  for (const kind of kinds) {
    for (let nth = 1; nth <= mostOfAKind && (await visit({ ...kind, nth })); nth++);
  }
}

async function fewPoints(visit: (point: Point) => Promise<boolean>): Promise<void> {
  await visit({ life: "first", call: "link", nth: 1 });
  for (const nth of [2, 5]) await visit({ life: "resumed, journal", call: "write", nth });
  await visit({ life: "resumed, journal", call: "fdatasync", nth: 1 });
}

async function killAt(point: Point): Promise<{ killed: boolean; violations: string[] }> {
  const place = createPlace();
  // The work is the same each time: effects, a denial, an edit, a long output.
  const random = sequence([0.15, 0.45, 0.85]);
  const server = await createApiServer({ script: planWork(place, { random, steps }) });
  try {
    if (point.life !== "first") await live(place, server, { words: ["--max-turns", "1"] });
    const struck = await live(place, server, { under: straceFor(point, place) });
    const killed = struck.signal === "SIGKILL";
    const violations = killed || struck.code === 0 ? [] : [`strace: exit code ${struck.code}: ${struck.stderr}`];
    const words = isDone(place) ? ["Is there anything else?"] : [];
    const last = await live(place, server, { words });
    if (last.code !== 0) violations.push(`the resume ended with exit code ${last.code}: ${last.stderr}`);
    const transcript = transcriptPath(place) ?? "";
    const checked = checkInvariants({
      place,
      transcript,
      requests: server.requests,
      forbidden: FORBIDDEN,
      ends: "done",
    });
    violations.push(...checked.violations);
    // There can be one more turn: after a kill between the last answer and the end of the run, the model gets a message
    // about it.
    if (checked.work.turns < steps + 1) violations.push(`only ${checked.work.turns} turns`);
    if (violations.length === 0) place.remove();
    else violations.push(`see ${place.root}`);
    return { killed, violations };
  } finally {
    await server.close();
  }
}

function straceFor({ life, call, nth }: Point, place: Place): string[] {
  const transcript = transcriptPath(place) ?? "";
  const journal = ["-P", transcript, "-P", `${transcript.replace(/\.jsonl$/, "")}/wal.jsonl`];
  const paths = life === "resumed, journal" ? journal : [];
  return ["strace", "-f", "-qq", "-o", "/dev/null", ...paths, "-e", `inject=${call}:signal=KILL:when=${nth}`];
}

async function live(
  place: Place,
  server: ApiServer,
  { words = [], under = [] }: { words?: readonly string[]; under?: readonly string[] },
): Promise<Ended> {
  const transcript = transcriptPath(place);
  const task = transcript === undefined ? ["Do the work."] : ["--resume", sessionIdOf(transcript)];
  const options = { place, url: server.url, args: ["-p", ...task, ...words, ...workFlags] };
  return under.length > 0 ? startCommandLine({ ...options, under }).ended : runCommandLine(options);
}

function sequence(numbers: readonly number[]): () => number {
  let index = 0;
  return () => numbers[index++ % numbers.length] ?? 0;
}
