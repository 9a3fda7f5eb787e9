import { parseJsonLines } from "../../lib/index.ts";
import type { DurableEvent, EventOf, Line } from "../../protocol/index.ts";

export interface Problem {
  readonly file: string;
  /** Line number, starting at 1. 0 if the problem concerns the whole file. */
  readonly line: number;
  readonly message: string;
}

export interface ParsedTranscript {
  /** Lines in the order of their ids, without duplicates. Unknown types and fields are kept. */
  readonly lines: readonly Line[];
  readonly problems: readonly Problem[];
  /** Offset of an incomplete last line; undefined if the last line is complete. */
  readonly tornAt: number | undefined;
}

/**
 * Parses a transcript and reports damage instead of throwing. `before` is the number of lines that precede `bytes`, if
 * `bytes` contains only the end of the file.
 */
export function parseTranscript(
  bytes: Uint8Array,
  file: string,
  { before = 0 }: { readonly before?: number } = {},
): ParsedTranscript {
  const { records, bad, tornTail } = parseJsonLines(bytes);
  const problems: Problem[] = [];
  if (bytes.length === 0 && before === 0)
    problems.push({ file, line: 0, message: "The transcript is empty. If it had lines before, they are lost." });
  for (const { line, reason } of bad) {
    problems.push({ file, line, message: `Line ${line} can't be read: ${reason}. The line is skipped.` });
  }
  const tornAt = tornTail ? bytes.lastIndexOf(newline) + 1 : undefined;
  if (tornAt !== undefined) {
    const line = countNewlines(bytes) + 1;
    problems.push({ file, line, message: `Line ${line} was cut off while it was being written. It is skipped.` });
  }
  const candidates: Candidate[] = [];
  let sorted = true;
  let last = 0;
  for (const record of records) {
    const { value, line } = record;
    if (!isLine(value)) {
      problems.push({ file, line, message: `Line ${line} is not a transcript line. It is skipped.` });
      continue;
    }
    if (value.v !== 1) {
      const message = `Line ${line} has version ${JSON.stringify(value.v)}, which is newer than this program supports. It is kept unchanged.`;
      problems.push({ file, line, message });
    }
    const id = Number(value.id);
    if (id <= last) sorted = false;
    last = id;
    candidates.push({ id, value, line, text: record.text });
  }
  const unique = sorted ? candidates : dropRepeated(candidates, { file, problems });
  reportGaps(unique, { file, problems, before });
  problems.sort((left, right) => left.line - right.line);
  return { lines: unique.map((each) => each.value), problems, tornAt };
}

const newline = 10;

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

interface Candidate {
  readonly id: number;
  readonly value: Line;
  readonly line: number;
  readonly text: string;
}

function isLine(value: unknown): value is Line {
  if (typeof value !== "object" || value === null) return false;
  const { id, type } = value as Partial<Line>;
  if (typeof id !== "string" || !/^[1-9]\d{0,14}$/.test(id) || typeof type !== "string") return false;
  return (value as Line).v !== 1 || hasRequiredFields(value as Line);
}

/** Drops duplicate lines, which can result from a retried append or from the write-ahead log. */
function dropRepeated(candidates: Candidate[], { file, problems }: { file: string; problems: Problem[] }): Candidate[] {
  const byId = new Map<number, Candidate>();
  for (const candidate of candidates) {
    const other = byId.get(candidate.id);
    if (other === undefined) {
      byId.set(candidate.id, candidate);
      continue;
    }
    if (other.text === candidate.text) continue;
    const kept = followsItsParent(other) || !followsItsParent(candidate) ? other : candidate;
    const dropped = kept === other ? candidate : other;
    byId.set(candidate.id, kept);
    const message = `Line ${dropped.line} has the same id as line ${kept.line} but different content. It is skipped.`;
    problems.push({ file, line: dropped.line, message });
  }
  return [...byId.values()].sort((left, right) => left.id - right.id);
}

function followsItsParent({ id, value }: Candidate): boolean {
  return value.parentId === (id === 1 ? null : String(id - 1));
}

function reportGaps(
  candidates: readonly Candidate[],
  { file, problems, before }: { file: string; problems: Problem[]; before: number },
): void {
  let expected = before + 1;
  for (const { id, line } of candidates) {
    if (id !== expected) {
      const missing = id - expected === 1 ? `Entry ${expected} is` : `Entries ${expected} to ${id - 1} are`;
      problems.push({ file, line, message: `${missing} missing before line ${line}.` });
    }
    expected = id + 1;
  }
}

/**
 * Returns whether a line has the fields that its type requires. A flipped bit may change the name of a field and still
 * leave valid JSON. Ignores unknown types and fields.
 */
function hasRequiredFields(line: Line): boolean {
  const fields: Readonly<Record<string, Kind>> = Object.hasOwn(requiredFields, line.type)
    ? (requiredFields[line.type] ?? {})
    : {};
  return Object.entries(fields).every(([name, kind]) => isOf[kind]((line as unknown as Unknown)[name]));
}

type Kind = "text" | "number" | "object" | "list" | "blocks" | "content";
type Unknown = Readonly<Record<string, unknown>>;

const isOf: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  object: isObject,
  list: Array.isArray,
  blocks: isBlocks,
  content: (value) => isObject(value) && isBlocks(value["content"]),
};

function isObject(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null;
}

function isBlocks(value: unknown): boolean {
  return Array.isArray(value) && value.every(isBlock);
}

function isBlock(value: unknown): boolean {
  if (!isObject(value) || typeof value["type"] !== "string") return false;
  const needed = Object.hasOwn(texts, value["type"]) ? texts[value["type"]] : undefined;
  return needed === undefined || needed.every((name) => typeof value[name] === "string");
}

const texts: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  thinking: ["text"],
  opaque: ["json"],
  image: ["mediaType", "data"],
  tool_call: ["callId", "name", "inputJson"],
};

/** Required fields by event type. */
const requiredFields: { readonly [T in DurableEvent["type"]]?: { readonly [F in keyof EventOf<T>]?: Kind } } = {
  "agent.created": { agentId: "text", agentType: "text", description: "text", parent: "object", depth: "number" },
  "agent.spawned": { callId: "text", agentId: "text" },
  "agent.resumed": { agentId: "text", runId: "text" },
  "run.started": { runId: "text", agentId: "text", agentType: "text", model: "text", maxTurns: "number" },
  "run.backgrounded": { runId: "text" },
  "run.awaited": { agentId: "text", runId: "text" },
  "wait.ended": { agentId: "text", runId: "text" },
  "run.delayed": { by: "text" },
  "mode.changed": { mode: "text" },
  "head.set": { hash: "text" },
  "prompt.queued": { promptId: "text", content: "blocks" },
  "prompt.withdrawn": { promptId: "text" },
  "prompt.received": { content: "blocks" },
  "context.added": { text: "text" },
  "notices.delivered": { notices: "list", text: "text" },
  "model.requested": { turn: "number" },
  "spend.reserved": { request: "text", reserved: "object" },
  "spend.recorded": { usage: "object" },
  "model.retried": { turn: "number", retry: "object" },
  "model.ended": { turn: "number", message: "content", usage: "object", milliseconds: "number" },
  "model.failed": { turn: "number", error: "object", partial: "blocks", milliseconds: "number" },
  "tool.requested": { callId: "text", name: "text" },
  "approval.requested": { requestId: "text", callId: "text", name: "text", inputJson: "text" },
  "approval.answered": { requestId: "text", callId: "text", answer: "text" },
  "tool.started": { callId: "text" },
  "tool.ended": { callId: "text", name: "text", result: "content" },
  "conversation.compacted": { summary: "text", kept: "number" },
  "conversation.rewound": { line: "text" },
  "thinking.dropped": { serializer: "number" },
  "notice.raised": { code: "text", message: "text" },
  "run.ended": { runId: "text", reason: "text", text: "text", usage: "object", facts: "object" },
  "acceptance.checked": { runId: "text" },
  "run.cleaned": { runId: "text" },
};
