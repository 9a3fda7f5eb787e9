import { openSession, type RunResult, type Session } from "../../src/app/index.ts";
import { createConnections, createLimiter, createWireModel } from "../../src/model/index.ts";
import {
  type ApiServer,
  createApiServer,
  type Fault,
  type RecordedRequest,
  type Reply,
  type ReplyFunction,
} from "../../src/testing/index.ts";
import { checkFamily } from "../reliability/check-family.ts";
import { checkInvariants, type Evidence, type Finding, type Work } from "../reliability/check-invariants.ts";
import { childIn, planFamily } from "../reliability/family.ts";
import { createPlace, MARK, type Place } from "../reliability/place.ts";
import { seededRandom } from "../reliability/seeded-random.ts";
import { FORBIDDEN, planWork, type Random } from "../reliability/work-script.ts";
import { type Campaign, runSeeds, type Verdict } from "./campaign.ts";

/** Faults that can affect any answer. */
export const anyFaults: readonly Fault[] = [
  ...[400, 401, 408, 429, 500, 502, 503, 529].map((status): Fault => ({ kind: "status", status })),
  { kind: "status", status: 429, retryAfter: { milliseconds: 5 } },
  { kind: "status", status: 429, retryAfter: { seconds: 7_200 } },
  { kind: "spend-cap" },
  { kind: "hang" },
  { kind: "hang", afterBytes: "random" },
  { kind: "close" },
  { kind: "close", afterBytes: "random" },
  { kind: "reset" },
  { kind: "reset", afterBytes: "random" },
  { kind: "split" },
  { kind: "error-event" },
  { kind: "error-event", afterEvents: 1, errorType: "api_error" },
  { kind: "invalid-utf8" },
  { kind: "duplicate-event" },
  { kind: "missing-end" },
  { kind: "wrong-content-type" },
  { kind: "html" },
  { kind: "huge", bytes: 1_500_000 },
  { kind: "huge", bytes: 1_500_000, oneEvent: true },
];

/** Faults that can only affect an answer with a tool call. */
export const callFaults: readonly Fault[] = [
  { kind: "truncated-tool-json", end: "close" },
  { kind: "truncated-tool-json", end: "max-tokens" },
  { kind: "unknown-tool" },
  { kind: "wrong-argument-types" },
  { kind: "large-argument" },
  { kind: "same-tool-id-twice" },
];

/** The seed chooses the faults, and failed runs are resumed. Each run must succeed or end with one stated error. */
export const apiFaults: Campaign = (options) =>
  runSeeds(options, (seed) => {
    const random = seededRandom(seed);
    const rate = 0.1 + random() * 0.5;
    return workUnderFaults({ random, strike: (hasCall) => (random() < rate ? pick(random, hasCall) : undefined) });
  });

function pick(random: Random, hasCall: boolean): Fault | undefined {
  const faults = hasCall ? [...anyFaults, ...callFaults] : anyFaults;
  return faults[Math.floor(random() * faults.length)];
}

const children = 6;

/** The same campaign with children that one answer starts. They work in parallel, each with its own faults. */
export const apiFaultsFamily: Campaign = (options) =>
  runSeeds(options, (seed) => {
    const random = seededRandom(seed);
    const rate = 0.1 + random() * 0.4;
    // Faults affect only children: the main agent has only one answer with calls, and is tested by its own campaign.
    const strike: FaultyWork["strike"] = (hasCall, request) =>
      childIn(request) !== undefined && random() < rate ? pick(random, hasCall) : undefined;
    const family = planFamily({ random, children, steps: 2, background: Math.floor(random() * 3) });
    return underFaults({ strike, idleMs: 1_000, plan: () => family, check: checkFamily });
  });

export interface FaultyWork {
  readonly random: Random;
  /** Returns the fault for the next answer, if any. */
  readonly strike: (hasCall: boolean, request: RecordedRequest) => Fault | undefined;
  /** Number of answers with calls; 4 by default. */
  readonly steps?: number;
  /**
   * Time without data after which a connection is considered dead; 200 ms by default, because some faults wait for it.
   * On a busy machine, even working connections can be silent for that long.
   */
  readonly idleMs?: number;
}

const mostRuns = 40;

export function workUnderFaults({ random, strike, steps = 4, idleMs }: FaultyWork): Promise<Verdict> {
  const plan = (place: Place) => planWork(place, { random, steps });
  const check = (evidence: Evidence) => checkInvariants({ ...evidence, forbidden: FORBIDDEN });
  return underFaults({ strike, idleMs, plan, check });
}

interface FaultyPlan extends Pick<FaultyWork, "strike"> {
  readonly idleMs?: number | undefined;
  readonly plan: (place: Place) => ReplyFunction;
  readonly check: (evidence: Evidence) => Finding;
}

async function underFaults({ strike, idleMs = 200, plan, check }: FaultyPlan): Promise<Verdict> {
  const place = createPlace();
  const work = plan(place);
  let faults = 0;
  const server = await createApiServer({
    script: async (request, context) => {
      const reply = await work(request, context);
      const fault = strike(hasCall(reply), request);
      if (fault === undefined) return reply;
      faults += 1;
      return { ...reply, fault, ...(isLong(fault) ? { pacing: { chunkCharacters: 4_000 } } : {}) };
    },
  });
  const connections = createConnections({ environment: {} });
  try {
    const { violations, runs, transcript } = await runToTheEnd(place, { server, connections, idleMs });
    const checked = check({ place, transcript, requests: server.requests });
    violations.push(...checked.violations, ...tooLittle(checked.work));
    if (violations.length === 0) place.remove();
    else violations.push(`see ${place.root}`);
    return { violations, work: { faults, runs, ...checked.work } };
  } finally {
    connections.close();
    await server.close();
  }
}

/** Returns whether the fault makes an answer so long that its usual small chunks would take seconds of processor time. */
function isLong({ kind }: Fault): boolean {
  return kind === "huge" || kind === "large-argument";
}

function hasCall({ content }: Reply): boolean {
  return typeof content !== "string" && content.some((part) => typeof part === "object" && "tool" in part);
}

/** The test does not require all effects, because a fault that damages a call can prevent the effect of its step. */
function tooLittle({ turns, calls }: Work): string[] {
  return turns < 2 || calls < 1 ? [`only ${turns} turns and ${calls} calls`] : [];
}

interface Ways {
  readonly server: ApiServer;
  readonly connections: ReturnType<typeof createConnections>;
  readonly idleMs: number;
}

async function runToTheEnd(place: Place, ways: Ways) {
  const violations: string[] = [];
  let session = await open(place, ways);
  const transcript = session.transcriptPath ?? "";
  let result = await runOnce(session, "Do the work.");
  let runs = 1;
  while (result.outcome !== "succeeded" && runs < mostRuns) {
    if (!result.message) violations.push(`the run ended with ${result.reason} and no message`);
    if (result.reason === "internal_error") violations.push(`a bug: ${result.message}`);
    // Every other time, continue from the files, as a new process would.
    if (runs % 2 === 0) {
      await session.close();
      session = await open(place, { ...ways, resume: session.id });
    }
    result = await runOnce(session, "");
    runs += 1;
  }
  await session.close();
  if (result.outcome !== "succeeded") violations.push(`not done after ${runs} runs: ${result.message}`);
  return { violations, runs, transcript };
}

async function runOnce(session: Session, words: string): Promise<RunResult> {
  const run = session.prompt(words);
  let ends = 0;
  for await (const update of run) if (update.type === "run.ended") ends += 1;
  if (ends !== 1) throw new Error(`a run ended ${ends} times`);
  return run.result;
}

function open(place: Place, { server, connections, idleMs, resume }: Ways & { resume?: string }): Promise<Session> {
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const model = createWireModel({
    provider: {
      name: "anthropic",
      dialect: "anthropic",
      baseUrl: server.url,
      secretHeaders: () => ({ "x-api-key": "key-of-the-test" }),
      models: {},
    },
    model: "test-model",
    limiter: createLimiter({ clock }),
    clock,
    connections,
    retry: { maxAttempts: 4, fewAttempts: 2, baseMs: 1, capMs: 3, longestWaitMs: 100 },
    idleMs,
    maxAnswerBytes: 1_200_000,
  });
  return openSession({
    home: place.home,
    cwd: place.cwd,
    environment: { PATH: process.env["PATH"], HOME: place.root, [MARK]: place.mark },
    model,
    permissionMode: "acceptEdits",
    allowedTools: ["Bash"],
    disallowedTools: ["Bash(touch *)"],
    ...(resume === undefined ? {} : { resume }),
  });
}
