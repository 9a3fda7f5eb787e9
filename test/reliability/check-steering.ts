import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { InboxLine, Line } from "../../src/protocol/index.ts";
import type { Family } from "./family.ts";

/** Actions that a person took while the session was killed and resumed. */
export interface Steered {
  /** Ids of the prompts that were sent to agents. */
  readonly prompts: readonly string[];
  /** Ids of the requests that were allowed. */
  readonly allowed: readonly string[];
}

/** Checks that the lines are numbered across all agents, and that no prompt, command or approval was lost or repeated. */
export function checkSteering(family: Family, transcript: string, { prompts, allowed }: Steered): string[] {
  const all = [...family.values()].flat();
  const inbox = inboxLines(transcript);
  return [
    ...[...family].flatMap(([agentId, lines]) => checkOrder(agentId, lines)),
    ...checkUnique(all),
    ...prompts.flatMap((id) => checkPrompt(id, all)),
    ...checkQueue(all),
    ...checkReceipts(inbox),
    ...allowed.flatMap((id) => checkAllowed(id, inbox, all)),
  ];
}

function checkOrder(agentId: string, lines: readonly Line[]): string[] {
  return lines.flatMap((line, index) => {
    const before = lines[index - 1]?.seq ?? 0;
    return (line.seq ?? 0) > before ? [] : [`seq ${line.seq} follows ${before} in the transcript of ${agentId}`];
  });
}

function checkUnique(all: readonly Line[]): string[] {
  const numbers = all.map(({ seq }) => seq);
  return new Set(numbers).size === numbers.length ? [] : ["two lines have the same seq"];
}

function checkPrompt(promptId: string, all: readonly Line[]): string[] {
  const received = all.filter((line) => line.type === "prompt.received" && line.promptId === promptId).length;
  return received === 1 ? [] : [`the prompt ${promptId} was received ${received} times`];
}

function checkQueue(all: readonly Line[]): string[] {
  return all.flatMap((line) => {
    if (line.type !== "prompt.queued") return [];
    const isOver = ({ type }: Line): boolean => type === "prompt.received" || type === "prompt.withdrawn";
    const ends = all.filter((each) => isOver(each) && "promptId" in each && each.promptId === line.promptId);
    return ends.length === 1 ? [] : [`the queued prompt ${line.promptId} was taken ${ends.length} times`];
  });
}

function checkReceipts(lines: readonly InboxLine[]): string[] {
  // Other commands have no purpose once the process has ended.
  const isPrompt = (line: InboxLine) => line.type === "command.sent" && line.command.type === "prompt";
  const sent = lines.flatMap((line) => (line.type === "command.sent" && isPrompt(line) ? [line.command.id] : []));
  const settled = lines.flatMap((line) => (line.type === "command.settled" ? [line.receipt.commandId] : []));
  return sent.filter((id) => !settled.includes(id)).map((id) => `the command ${id} has no receipt`);
}

/** An approved call must have started, even if its process died before its result was recorded. */
function checkAllowed(requestId: string, inbox: readonly InboxLine[], all: readonly Line[]): string[] {
  const asked = inbox.find((line) => line.type === "approval.requested" && line.requestId === requestId);
  if (asked?.type !== "approval.requested") return [`the request ${requestId} was not recorded`];
  const { callId } = asked.call;
  const isStarted = all.some((line) => line.type === "tool.started" && line.callId === callId);
  return isStarted ? [] : [`the call ${callId} was allowed but never started`];
}

function inboxLines(transcript: string): readonly InboxLine[] {
  const path = join(transcript.replace(/\.jsonl$/, ""), "inbox.jsonl");
  if (!existsSync(path)) return [];
  const texts = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return texts.flatMap((text) => {
    try {
      return [JSON.parse(text) as InboxLine];
    } catch {
      // A process was killed while it wrote this line.
      return [];
    }
  });
}
