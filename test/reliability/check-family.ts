import type { Line } from "../../src/protocol/index.ts";
import type { RecordedRequest } from "../../src/testing/index.ts";
import {
  type CallRecord,
  callsIn,
  checkCalls,
  checkEffects,
  checkEnds,
  checkLeftovers,
  checkNumbers,
  checkRequests,
  checkSeen,
  type Evidence,
  effectsIn,
  type Finding,
} from "./check-invariants.ts";
import { childIn, childOf, type Family, readFamily, reportOf } from "./family.ts";

/**
 * Checks all invariants that `checkInvariants` lists, except I7, for a main agent and its children after all of them
 * have ended. Checks reports only if the main agent is done.
 */
export function checkFamily(evidence: Omit<Evidence, "forbidden">): Finding {
  const family = readFamily(evidence.transcript);
  const main = family.get("main") ?? [];
  const calls = new Map<string, CallRecord>();
  const violations: string[] = [];
  for (const [agentId, lines] of family) {
    const own = callsIn(lines);
    for (const [id, call] of own) calls.set(id, call);
    const found = [
      ...checkNumbers(lines),
      ...checkCalls(lines, isLeft(lines) ? begunOf(own) : own),
      ...checkEnds(lines, evidence.ends === undefined || agentId !== "main" ? undefined : "done"),
      ...checkRequests(lines, requestsOf(lines, evidence.requests)),
    ];
    violations.push(...found.map((text) => `${agentId}: ${text}`));
  }
  violations.push(
    ...checkEffects(calls, effectsIn(evidence.place)),
    ...checkSeen(calls, evidence.seen),
    ...checkLeftovers(evidence),
    ...(evidence.ends === "done" ? checkReports(family) : []),
    ...checkNotices(main, family),
  );
  const outcomes = [...calls.values()].flatMap((call) => call.outcomes);
  return {
    violations,
    work: {
      turns: [...family.values()].flat().filter(({ type }) => type === "model.ended").length,
      calls: calls.size,
      effects: effectsIn(evidence.place).size,
      unknown: outcomes.filter((outcome) => outcome === "unknown").length,
      denied: outcomes.filter((outcome) => outcome === "denied").length,
    },
  };
}

/** Whether the agent's process was lost and the agent was not resumed, so that some of its calls have not started. */
function isLeft(lines: readonly Line[]): boolean {
  const last = lines.findLast(({ type }) => type !== "run.cleaned");
  return last?.type === "run.ended" && last.reason === "process_lost";
}

function begunOf(calls: ReadonlyMap<string, CallRecord>): Map<string, CallRecord> {
  return new Map([...calls].filter(([, { starts, outcomes }]) => starts + outcomes.length > 0));
}

/** Returns the requests of one agent. Children are recognized by their prompts; each has exactly one transcript. */
function requestsOf(lines: readonly Line[], requests: readonly RecordedRequest[]): readonly RecordedRequest[] {
  const own = numberOf(lines);
  return requests.filter((request) => childIn(request) === own);
}

function numberOf(lines: readonly Line[]): number | undefined {
  for (const line of lines) {
    if (line.type !== "prompt.received") continue;
    const words = line.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return childOf(words);
  }
  return undefined;
}

/** Each Task call must return the report of its own child, unless the child was launched in the background. */
function checkReports(family: Family): string[] {
  const main = family.get("main") ?? [];
  const violations: string[] = [];
  const asked = new Map(taskCalls(main));
  for (const [callId, child] of asked) {
    const spawned = main.flatMap((line) => (line.type === "agent.spawned" && line.callId === callId ? [line] : []));
    const born = spawned.filter(({ agentId }) => family.has(agentId));
    const ended = main.find((line) => line.type === "tool.ended" && line.callId === callId);
    if (ended?.type !== "tool.ended") continue;
    // The call had started, but no agent was created yet: its result is unknown (I4), and no agent worked for it.
    if (ended.result.outcome === "unknown" && spawned.length === 0) continue;
    if (born.length !== 1) violations.push(`${callId} has ${born.length} agents with a transcript`);
    const text = ended.result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    const isTold = ended.result.facts?.launched === undefined ? text.includes(reportOf(child)) : true;
    if (!isTold) violations.push(`I6 ${callId} got no report from child ${child}: ${text.slice(0, 200)}`);
  }
  const children = [...family].filter(([agentId]) => agentId !== "main");
  if (children.length > asked.size) violations.push(`${children.length} transcripts for ${asked.size} calls`);
  return violations;
}

function taskCalls(main: readonly Line[]): [callId: string, child: number][] {
  return main.flatMap((line) => {
    if (line.type !== "model.ended") return [];
    return line.message.content.flatMap((block): [string, number][] => {
      if (block.type !== "tool_call" || block.name !== "Task") return [];
      return [[block.callId, childOf(block.inputJson) ?? -1]];
    });
  });
}

/** I6: exactly one notice is delivered for each run that was launched in the background, and none for other runs. */
export function checkNotices(parent: readonly Line[], family: Family): string[] {
  const told = parent.flatMap((line) =>
    line.type === "notices.delivered" ? line.notices.map(({ agentId, runId }) => `${agentId} ${runId}`) : [],
  );
  const launched: string[] = [];
  for (const line of parent) {
    const notice = line.type === "tool.ended" ? line.result.facts?.launched : undefined;
    if (notice) launched.push(`${notice.agentId} ${notice.runId}`);
    if (line.type !== "agent.resumed" || line.callId !== undefined) continue;
    // A run that continues after its process has ended replaces the earlier one.
    const isReplaced = line.by !== "person" || line.replaces === true;
    const isContinued = (run: string): boolean => isReplaced && run.startsWith(`${line.agentId} `);
    launched.splice(0, launched.length, ...launched.filter((run) => !isContinued(run) || told.includes(run)));
    launched.push(`${line.agentId} ${line.runId}`);
  }
  const ends = new Map<string, string>();
  for (const [agentId, lines] of family) {
    for (const line of lines) if (line.type === "run.ended") ends.set(`${agentId} ${line.runId}`, line.outcome);
  }
  return [
    ...launched.flatMap((run) => {
      const count = told.filter((each) => each === run).length;
      return count === 1 ? [] : [`I6 the end of ${run} was reported ${count} times`];
    }),
    ...told.filter((run) => !launched.includes(run)).map((run) => `I6 a notice reports ${run}, which was not launched`),
    ...told.filter((run) => !ends.has(run)).map((run) => `I6 a notice reports ${run}, which has no end`),
    ...parent.flatMap((line) => {
      if (line.type !== "notices.delivered") return [];
      // An agent that was resumed before its report was delivered has two reports.
      const reports = (agentId: string): number => line.notices.filter((each) => each.agentId === agentId).length;
      const unsaid = line.notices.filter(
        ({ agentId }) => line.text.split(`id="${agentId}"`).length !== reports(agentId) + 1,
      );
      return unsaid.map(({ agentId }) => `I6 the text of a notice does not name ${agentId} once for each report`);
    }),
  ];
}
