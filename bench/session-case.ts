import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, systemClock } from "../src/app/index.ts";
import type { DurableEvent } from "../src/protocol/index.ts";
import { createCast, type ScriptedStep } from "../src/testing/index.ts";
import { createTranscript, openTranscript } from "../src/transcript/index.ts";
import type { Figure } from "./figure.ts";

/** Measures a session with very many events, and one with very many agents. */
export async function sessionCase(): Promise<Figure[]> {
  const root = mkdtempSync(join(tmpdir(), "retinue-bench-session-"));
  try {
    const agents = await manyAgents(root);
    return [...(await manyEvents(root)), ...agents];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const EVENTS = 50_000;
const WRITERS = 50;

/**
 * Opens a session and reads 50,000 events of 50 agents, from the start and from several other positions. The baseline
 * only parses the same lines.
 */
async function manyEvents(root: string): Promise<Figure[]> {
  const options = { home: join(root, "events"), cwd: root, sessionId: "events", clock: systemClock };
  const written = await createTranscript(options);
  for (let count = 0; count < EVENTS; count += 1) {
    const agentId = count % WRITERS === 0 ? "main" : `a${count % WRITERS}`;
    await written.append(agentId, [
      { type: "notice.raised", code: "bench", message: `event ${count}` } as DurableEvent,
    ]);
  }
  await written.close();
  const startedAt = performance.now();
  const transcript = await openTranscript(options);
  await readFrom(transcript, 0);
  const ours = performance.now() - startedAt;
  for (const after of [1, 12_345, 49_990]) await readFrom(transcript, after);
  await transcript.close();
  const paths = readdirSync(options.home, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".jsonl"),
  );
  const baseline = await timed(async () => {
    for (const path of paths)
      for (const line of readFileSync(join(options.home, path), "utf8").split("\n")) if (line !== "") JSON.parse(line);
  });
  return [{ name: "late reader of 50,000 events", ours, baseline, unit: "ms", limit: 6 }];
}

/** Reads all events after a position. Throws unless they are complete and in order. */
async function readFrom(transcript: Awaited<ReturnType<typeof openTranscript>>, after: number): Promise<void> {
  let expected = after;
  for await (const { seq } of transcript.feed.read({ after })) {
    expected += 1;
    if (seq !== expected) throw new Error(`event ${seq} instead of ${expected}`);
    if (expected === EVENTS) return;
  }
}

const AGENTS = 10_000;
const BATCH = 1_000;
const ANSWER_MS = 200;

/**
 * Runs 10,000 agents with one request of 200 ms each. The baseline waits for the same answers and does nothing else.
 */
async function manyAgents(root: string): Promise<Figure[]> {
  const answered = () => new Promise<void>((resolve) => setTimeout(resolve, ANSWER_MS));
  const batches = Array.from({ length: AGENTS / BATCH }, (_, batch): ScriptedStep => ({ calls: tasks(batch * BATCH) }));
  const answer = (): ScriptedStep => () => ({ text: "Found.", after: answered() });
  const parts = { MAIN: [...batches, { text: "All." }], CHILD: Array.from({ length: AGENTS }, answer) };
  const session = await openSession({
    home: join(root, "agents"),
    cwd: root,
    model: createCast(parts, { window: 100_000_000 }),
    settings: { subagents: { maxSpawns: AGENTS } },
    agentUpdates: "milestones",
  });
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 50);
  const ours = await timed(async () => {
    const { outcome, facts } = await session.prompt("MAIN: go").result;
    if (outcome !== "succeeded" || facts.toolCalls["Task"] !== AGENTS) throw new Error(`ended as ${outcome}`);
  });
  clearInterval(sampling);
  await session.close();
  const baseline = await timed(async () => {
    for (let from = 0; from < AGENTS; from += BATCH) await Promise.all(Array.from({ length: BATCH }, answered));
  });
  const memory = Math.round(peak / 1_000_000);
  return [
    { name: "10,000 agents in one session", ours: ours / 1_000, baseline: baseline / 1_000, unit: "s", limit: 15 },
    { name: "peak memory of 10,000 agents", ours: memory, baseline: 0, unit: "MB", limit: 2_500, kind: "value" },
  ];
}

function tasks(from: number): readonly { readonly name: string; readonly input: unknown }[] {
  return Array.from({ length: BATCH }, (_, index) => ({
    name: "Task",
    input: { description: "a part", prompt: `CHILD ${from + index}`, subagent_type: "general-purpose" },
  }));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
