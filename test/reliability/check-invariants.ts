import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Line } from "../../src/protocol/index.ts";
import type { RecordedRequest } from "../../src/testing/index.ts";
import { expectedRequests, receivedMessages, toBeSummed } from "./expected-requests.ts";
import { livingIn, type Place, readTranscript } from "./place.ts";

export interface Evidence {
  readonly place: Place;
  readonly transcript: string;
  /** All requests that the API server recorded, in order. */
  readonly requests: readonly RecordedRequest[];
  /** Call ids that a client was shown, with or without a result, before its process was killed. */
  readonly seen?: { readonly calls: readonly string[]; readonly results: readonly string[] };
  /** Calls whose input contains this text must not have run. */
  readonly forbidden?: string;
  /** How the session must have ended. By default, any recorded end is accepted. */
  readonly ends?: "done";
}

export interface Finding {
  /** Violations of invariants; empty if every invariant holds. */
  readonly violations: readonly string[];
  /** Counts that show that the session actually did something. */
  readonly work: Work;
}

export interface Work {
  readonly turns: number;
  readonly calls: number;
  readonly effects: number;
  readonly unknown: number;
  readonly denied: number;
}

export const ledgerOf = ({ cwd }: Pick<Place, "cwd">): string => join(cwd, "ledger.txt");

/**
 * Checks these invariants for a session that is no longer open. The text of a violation begins with the name of the
 * invariant.
 *
 * - I1: Everything that was sent, done or shown is in the transcript.
 * - I2: The transcript consists of complete lines, which are numbered without gaps.
 * - I3: Every call has exactly one result. A successful one was started first.
 * - I4: No call was started twice, and only a call that was started has an unknown result.
 * - I5: No call had its effect twice. Every successful call had its effect.
 * - I6 (`checkFamily`): Every report and every notice was delivered exactly once.
 * - I7: All runs had the same permission mode, and forbidden calls were denied.
 * - I8: No process and no lock is left.
 * - I10: Every run has exactly one end, with a message unless it succeeded.
 */
export function checkInvariants(evidence: Evidence): Finding {
  const violations: string[] = [];
  let lines: readonly Line[];
  try {
    lines = readTranscript(evidence.transcript);
  } catch (error) {
    return { violations: [`I2 ${String(error)}`], work: { turns: 0, calls: 0, effects: 0, unknown: 0, denied: 0 } };
  }
  const calls = callsIn(lines);
  const effects = effectsIn(evidence.place);
  violations.push(
    ...checkNumbers(lines),
    ...checkCalls(lines, calls),
    ...checkEffects(calls, effects),
    ...checkRequests(lines, evidence.requests),
    ...checkSeen(calls, evidence.seen),
    ...checkRestrictions(lines, calls, evidence.forbidden),
    ...checkLeftovers(evidence),
    ...checkEnds(lines, evidence.ends),
  );
  const outcomes = [...calls.values()].flatMap((call) => call.outcomes);
  const work = {
    turns: lines.filter((line) => line.type === "model.ended").length,
    calls: calls.size,
    effects: [...effects.values()].reduce((sum, count) => sum + count, 0),
    unknown: outcomes.filter((outcome) => outcome === "unknown").length,
    denied: outcomes.filter((outcome) => outcome === "denied").length,
  };
  return { violations, work };
}

export interface CallRecord {
  readonly input: string;
  readonly isLedger: boolean;
  starts: number;
  readonly outcomes: string[];
}

export function callsIn(lines: readonly Line[]): Map<string, CallRecord> {
  const calls = new Map<string, CallRecord>();
  for (const line of lines) {
    if (line.type === "model.ended") {
      for (const block of line.message.content) {
        if (block.type !== "tool_call") continue;
        const isLedger = block.name === "Bash" && block.inputJson.includes("ledger.txt");
        calls.set(block.callId, { input: block.inputJson, isLedger, starts: 0, outcomes: [] });
      }
    }
    if (line.type === "tool.started") {
      const call = calls.get(line.callId);
      if (call) call.starts += 1;
    }
    if (line.type === "tool.ended") calls.get(line.callId)?.outcomes.push(line.result.outcome);
  }
  return calls;
}

/** Counts how often the ledger contains each call id. */
export function effectsIn(place: Place): Map<string, number> {
  const effects = new Map<string, number>();
  const path = ledgerOf(place);
  if (!existsSync(path)) return effects;
  for (const id of readFileSync(path, "utf8").split("\n").filter(Boolean)) effects.set(id, (effects.get(id) ?? 0) + 1);
  return effects;
}

export function checkNumbers(lines: readonly Line[]): string[] {
  return lines.flatMap((line, index) => {
    const parent = index === 0 ? null : String(index);
    if (line.id === String(index + 1) && line.parentId === parent) return [];
    return [`I2 line ${index + 1} has the id ${line.id} and the parent ${line.parentId}`];
  });
}

export function checkCalls(lines: readonly Line[], calls: ReadonlyMap<string, CallRecord>): string[] {
  const violations: string[] = [];
  for (const [id, { starts, outcomes }] of calls) {
    if (outcomes.length !== 1) violations.push(`I3 ${id} has ${outcomes.length} results`);
    if (starts > 1) violations.push(`I4 ${id} was started ${starts} times`);
    if (outcomes[0] === "unknown" && starts !== 1) violations.push(`I4 ${id} is unknown but was never started`);
    if (outcomes[0] === "ok" && starts !== 1) violations.push(`I3 ${id} succeeded without an intent`);
  }
  const begun = new Set<string>();
  for (const line of lines) {
    if (line.type === "tool.started") begun.add(line.callId);
    if ((line.type === "tool.started" || line.type === "tool.ended") && !calls.has(line.callId)) {
      violations.push(`I3 line ${line.id} is about the call ${line.callId}, which no answer contains`);
    }
    if (line.type === "tool.ended" && line.result.outcome === "ok" && !begun.has(line.callId)) {
      violations.push(`I3 ${line.callId} ended before it was started`);
    }
  }
  return violations;
}

export function checkEffects(calls: ReadonlyMap<string, CallRecord>, effects: ReadonlyMap<string, number>): string[] {
  const violations: string[] = [];
  for (const [id, count] of effects) {
    if (count > 1) violations.push(`I5 ${id} had its effect ${count} times`);
    if (calls.get(id)?.starts !== 1) violations.push(`I1 ${id} had an effect but no recorded intent`);
  }
  for (const [id, { isLedger, outcomes }] of calls) {
    if (isLedger && outcomes[0] === "ok" && effects.get(id) !== 1)
      violations.push(`I5 ${id} has the outcome ok, but not exactly one effect`);
  }
  return violations;
}

/**
 * Each request must match a conversation in the transcript. A conversation may be sent again after a failure, or if the
 * process was killed before the answer.
 */
export function checkRequests(lines: readonly Line[], requests: readonly RecordedRequest[]): string[] {
  const expected = expectedRequests(lines);
  const violations: string[] = [];
  const sent = new Map<string, number>();
  let from = 0;
  for (const request of requests.filter(({ wire }) => wire === "anthropic")) {
    if (request.refusal !== undefined) violations.push(`request ${request.ordinal} was refused: ${request.refusal}`);
    if (request.unscripted !== undefined) violations.push(`request ${request.ordinal}: ${request.unscripted}`);
    const summed = toBeSummed(request.body);
    if (summed !== undefined) {
      if (!expected.some(({ messages }) => messages.startsWith(summed)))
        violations.push(`I1 request ${request.ordinal} summarizes a conversation that is not in the transcript`);
      continue;
    }
    const messages = receivedMessages(request.body);
    const at = expected.findIndex((each, index) => index >= from && each.messages === messages);
    if (at < 0) violations.push(`I1 request ${request.ordinal} does not match the transcript's conversation`);
    else from = at;
    sent.set(messages, (sent.get(messages) ?? 0) + 1);
  }
  for (const { messages, turn, answered } of expected) {
    if (!answered) continue;
    const left = sent.get(messages) ?? 0;
    if (left === 0) violations.push(`I1 turn ${turn} has an answer but was never requested`);
    sent.set(messages, left - 1);
  }
  return violations;
}

export function checkSeen(calls: ReadonlyMap<string, CallRecord>, seen: Evidence["seen"]): string[] {
  const lost = (seen?.calls ?? []).filter((id) => !calls.has(id));
  const lostResults = (seen?.results ?? []).filter((id) => calls.get(id)?.outcomes.length !== 1);
  return [
    ...lost.map((id) => `I1 a client saw the call ${id}, which is gone`),
    ...lostResults.map((id) => `I1 a client saw the result of ${id}, which is gone`),
  ];
}

function checkRestrictions(lines: readonly Line[], calls: ReadonlyMap<string, CallRecord>, forbidden?: string) {
  const violations: string[] = [];
  const modes = new Set(lines.flatMap((line) => (line.type === "run.started" ? [line.permissionMode] : [])));
  if (modes.size > 1) violations.push(`I7 the runs had the modes ${[...modes].join(", ")}`);
  for (const [id, { input, starts, outcomes }] of calls) {
    if (forbidden === undefined || !input.includes(forbidden)) continue;
    // A call that a stream fault has damaged fails before it can be denied.
    const isDenied = outcomes[0] === "denied" || outcomes[0] === "error";
    if (starts > 0 || !isDenied) violations.push(`I7 ${id} was not denied`);
  }
  return violations;
}

export function checkLeftovers({ place, transcript }: Evidence): string[] {
  const alive = livingIn(place);
  const lock = join(transcript.replace(/\.jsonl$/, ""), "lock");
  return [
    ...(alive.length > 0 ? [`I8 the processes ${alive.join(", ")} are still running`] : []),
    ...(existsSync(lock) ? ["I8 the lock still exists"] : []),
  ];
}

export function checkEnds(lines: readonly Line[], ends: Evidence["ends"]): string[] {
  const violations: string[] = [];
  let open: string | undefined;
  for (const line of lines) {
    if (line.type === "run.started") {
      if (open !== undefined) violations.push(`I10 the run ${open} has no end`);
      open = line.runId;
    }
    if (line.type !== "run.ended") continue;
    if (line.runId !== open) violations.push(`I10 the run ${line.runId} ended twice or never began`);
    if (line.outcome !== "succeeded" && !line.message)
      violations.push(`I10 the run ${line.runId} ended without a message`);
    open = undefined;
  }
  if (open !== undefined) violations.push(`I10 the run ${open} has no end`);
  const last = lines.findLast(({ type }) => type !== "run.cleaned");
  if (ends === "done" && !(last?.type === "run.ended" && last.reason === "done")) {
    violations.push(`I10 the session is not done: its last line is ${last?.type}`);
  }
  return violations;
}
