import { utimesSync } from "node:fs";
import { type DurableEvent, noFacts, noUsage, type Outcome } from "../../protocol/index.ts";
import { projectName, sessionPaths } from "../session-paths.ts";
import { notice, type TestPlace } from "./session.test-support.ts";
import { createTranscript, type Transcript } from "./transcript.ts";

export const day = 24 * 60 * 60 * 1000;
export const longAgo = 1_600_000_000_000;

export interface Conversation {
  readonly id: string;
  readonly at?: number;
  readonly prompt?: string;
  readonly outcome?: Outcome;
  readonly turns?: number;
  /** Result of the acceptance check. */
  readonly verified?: boolean;
  readonly filler?: number;
  readonly lastText?: string;
}

export async function conversation(place: TestPlace, how: Conversation, cwd = place.cwd): Promise<void> {
  const session = await start({ ...place, cwd }, how.id, how);
  const turns = Array.from({ length: how.turns ?? 1 }, (_, index) => index + 1);
  await session.append(
    "main",
    turns.map((turn) => ({ type: "model.requested", turn })),
  );
  if (how.filler)
    await session.append(
      "main",
      Array.from({ length: how.filler }, (_, index) => notice(`filler ${index}`)),
    );
  await session.append("main", [runEnded(how.outcome ?? "succeeded", how)]);
  await session.close();
}

export async function start(place: TestPlace, id: string, how: Partial<Conversation> = {}): Promise<Transcript> {
  const clock = { now: () => how.at ?? longAgo, monotonic: () => 0 };
  const session = await createTranscript({ home: place.home, cwd: place.cwd, sessionId: id, clock });
  await session.append("main", [
    { type: "session.created", sessionId: id, cwd: place.cwd, version: "0", serializer: 1 },
    {
      type: "run.started",
      runId: "r1",
      agentId: "main",
      agentType: "main",
      kind: "fresh",
      requestedModel: null,
      provider: "test",
      model: "test-model",
      modelReason: "test",
      permissionMode: "default",
      maxTurns: 10,
    },
    { type: "prompt.received", content: [{ type: "text", text: how.prompt ?? "hello" }], from: "person" },
  ]);
  return session;
}

export function runEnded(outcome: Outcome, how: Partial<Conversation>): DurableEvent {
  return {
    type: "run.ended",
    runId: "r1",
    outcome,
    reason: "done",
    text: how.lastText ?? "done",
    turns: how.turns ?? 1,
    usage: noUsage,
    milliseconds: 1,
    modelMilliseconds: 1,
    facts: noFacts,
    acceptance:
      how.verified === undefined ? undefined : { command: "check", ok: how.verified, exitCode: 1, output: "" },
  };
}

export function pathsOf(place: TestPlace, sessionId: string) {
  return sessionPaths({ home: place.home, project: projectName(place.cwd), sessionId });
}

export function touch(place: TestPlace, id: string, time: number): void {
  const paths = pathsOf(place, id);
  for (const path of [paths.transcript, paths.wal, paths.subagents]) {
    try {
      utimesSync(path, time / 1000, time / 1000);
    } catch {
      // Not every session has all of these files.
    }
  }
}
