import { setTimeout as wait } from "node:timers/promises";
import type { Fault, RecordedRequest, Reply } from "../src/testing/index.ts";
import { median, run } from "./client.ts";
import type { Figure } from "./figure.ts";

/**
 * Measures runs with providers that refuse requests: one that fails every 7th request, and one that accepts 12 at a
 * time.
 */
export async function pushbackCase(): Promise<Figure[]> {
  return [...(await everySeventh()), ...(await admission())];
}

const agents = 16;
const steps = 3;
const latencyMs = 200;

async function everySeventh(): Promise<Figure[]> {
  const walls: Record<"plain" | "faulty", number[]> = { plain: [], faulty: [] };
  for (let round = 0; round < 5; round += 1) {
    walls.plain.push(await delegate({ children: agents, steps, answer: after(latencyMs) }));
    walls.faulty.push(await delegate({ children: agents, steps, answer: failing(after(latencyMs)) }));
  }
  const [ours, baseline] = [median(walls.faulty), median(walls.plain)];
  const name = `${agents} agents × ${steps} steps, every 7th request answered with 503`;
  const seconds = Number((ours / 1_000).toFixed(2));
  return [
    // This limit is the next figure's limit, 2.5 s, divided by the 0.85 s that the run takes without faults.
    { name: `${name}, against no faults`, ours, baseline, unit: "ms", limit: 2.5 / 0.85 },
    { name, ours: seconds, baseline: 0, unit: "s", limit: 2.5, kind: "value" },
  ];
}

const crowd = 100;
const capacity = 12;
const serviceMs = 600;

/** Ideally, the server is always at capacity, so the run takes the number of rounds times the measured service time. */
async function admission(): Promise<Figure[]> {
  const took: number[] = [];
  const ideals: number[] = [];
  const refusals: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const server = admitting(after(serviceMs));
    await delegate({ children: crowd, steps: 1, answer: server.answer });
    took.push(server.lastEnd - server.firstBegin);
    ideals.push(Math.ceil(crowd / capacity) * median(server.services));
    refusals.push(server.refused);
  }
  const name = `${crowd} agents at a server that accepts ${capacity} requests at a time`;
  return [
    { name: `${name}, against the ideal`, ours: median(took), baseline: median(ideals), unit: "ms", limit: 1.6 },
    // On a busy machine, every agent may send its request before the first refusal shows what the server accepts.
    { name: `${name}: refused requests`, ours: median(refusals), baseline: 0, unit: "", limit: crowd, kind: "value" },
  ];
}

/** Answers the n-th request of all agents, starting at 1, with this reply or with a fault. */
type Answer = (reply: Reply, ordinal: number) => Promise<Reply>;

function after(milliseconds: number): Answer {
  return async (reply) => {
    await wait(milliseconds);
    return reply;
  };
}

function failing(answer: Answer): Answer {
  const fault: Fault = { kind: "status", status: 503, errorType: "overloaded_error" };
  return async (reply, ordinal) => (ordinal % 7 === 0 ? { content: "", fault } : answer(reply, ordinal));
}

function admitting(answer: Answer) {
  let admitted = 0;
  const refusal: Fault = { kind: "status", status: 429, retryAfter: { seconds: 1 } };
  const server = {
    services: [] as number[],
    refused: 0,
    firstBegin: Number.POSITIVE_INFINITY,
    lastEnd: 0,
    answer: async (reply: Reply, ordinal: number): Promise<Reply> => {
      const beganAt = performance.now();
      server.firstBegin = Math.min(server.firstBegin, beganAt);
      if (admitted >= capacity) {
        server.refused += 1;
        return { content: "", fault: refusal };
      }
      admitted += 1;
      const answered = await answer(reply, ordinal);
      admitted -= 1;
      server.lastEnd = performance.now();
      server.services.push(server.lastEnd - beganAt);
      return answered;
    },
  };
  return server;
}

interface Setting {
  readonly children: number;
  readonly steps: number;
  /** Answers requests from subagents. The main agent is answered immediately. */
  readonly answer: Answer;
}

/** Returns the wall time of one run. Throws unless every agent's report has reached the main agent. */
async function delegate({ children, steps: turns, answer }: Setting): Promise<number> {
  let reports = 0;
  let requests = 0;
  const reply = (_: number, cwd: string, request: RecordedRequest): Reply | Promise<Reply> => {
    const turn = count(request.rawBody, '"role":"assistant"') + 1;
    if (request.rawBody.includes("Do the job.")) {
      if (turn === 2) reports = count(request.rawBody, "This part is done.");
      return mainReply(turn, children);
    }
    requests += 1;
    return answer(childReply({ turn, turns, cwd }), requests);
  };
  const { wall } = await run({ client: "retinue", reply });
  if (reports !== children) throw new Error(`${reports} reports from ${children} agents`);
  return wall;
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

function childReply({ turn, turns, cwd }: { turn: number; turns: number; cwd: string }): Reply {
  if (turn >= turns) return { content: "This part is done." };
  return { content: [{ tool: "Read", input: { file_path: `${cwd}/file.txt`, offset: turn, limit: 4 } }] };
}
