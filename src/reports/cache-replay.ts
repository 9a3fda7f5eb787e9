import { type PrefixPoint, type PrefixPoints, prefixPoints, type WrittenPrompt } from "../conversation/index.ts";
import type { Journal } from "../ports/index.ts";
import {
  type AgentId,
  type EventOf,
  type HeadReason,
  type Line,
  MAIN_AGENT,
  type Prices,
  type Usage,
} from "../protocol/index.ts";
import { Thread } from "../runs/index.ts";
import type { ReadSession } from "../transcript/index.ts";
import { asJournal } from "./recorded-journal.ts";

/** A request that was sent, reconstructed from the transcripts. */
export interface SentRequest {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly turn: number;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** Recorded response; undefined if there is none. */
  readonly answer: Answer | undefined;
  readonly model: string;
  readonly prices: Prices | undefined;
  /** Minimum number of tokens that the provider caches; undefined if unknown. */
  readonly cacheMinimumTokens: number | undefined;
  /** Prompt of the request; undefined for a summary request, whose prompt is not in the transcript. */
  readonly prompt: SentPrompt | undefined;
  /** Why the request may not continue the previous one. */
  readonly change?: ConversationChange | undefined;
}

/**
 * What a transcript records about a conversation that does not simply go on.
 *
 * - model, agent, settings, missing: reasons for a new head.
 * - compaction: a summary replaced older messages.
 * - thinking: the model's earlier thinking was left out.
 * - rewind: the user went back to an earlier prompt.
 */
export type ConversationChange = Exclude<HeadReason, "start" | "fork"> | "thinking" | "rewind";

export interface Answer {
  readonly at: number;
  readonly usage: Usage;
  readonly costUsd: number | undefined;
}

export interface SentPrompt {
  readonly prompt: WrittenPrompt;
  readonly bytes: number;
  /** End positions of the parts that precede the messages. */
  readonly head: readonly PrefixPoint[];
  readonly end: PrefixPoint;
  /** The request in `before`, if this one begins with all its bytes. */
  readonly continues: SentPrompt | undefined;
  /** Points in this request, in order. If it continues another request, only those after the end of that request. */
  readonly points: readonly PrefixPoint[];
  /**
   * Request that this one should continue: the agent's previous request, or for a fork's first request, its parent's.
   */
  readonly before: SentPrompt | undefined;
  /** True if the bytes in the transcript differ from those that were sent. */
  readonly isChanged: boolean;
}

/** Returns all requests that a session's agents made, earliest first. */
export async function replaySession(session: ReadSession): Promise<readonly SentRequest[]> {
  const requests: SentRequest[] = [];
  const journal = asJournal(session);
  const promptsOf = new Map<AgentId, readonly { readonly sentAt: number; readonly prompt: SentPrompt }[]>();
  for (const agentId of [MAIN_AGENT, ...(await session.agents())]) {
    const lines = await journal.read(agentId);
    const origin = forkedFrom(lines);
    const parent = origin && promptsOf.get(origin.agentId)?.findLast(({ sentAt }) => sentAt <= origin.at)?.prompt;
    const prompts = promptsIn(await writtenPrompts(journal, agentId, parent?.end), { lines, parent });
    const found = requestsIn(lines, prompts);
    promptsOf.set(
      agentId,
      found.flatMap(({ sentAt, prompt }) => (prompt ? [{ sentAt, prompt }] : [])),
    );
    requests.push(...found);
  }
  return requests.sort((left, right) => left.sentAt - right.sentAt);
}

function forkedFrom([created]: readonly Line[]): { readonly agentId: AgentId; readonly at: number } | undefined {
  if (created?.type !== "agent.created" || created.fork === undefined) return undefined;
  return { agentId: created.fork.agentId, at: created.at };
}

interface Written extends PrefixPoints {
  readonly prompt: WrittenPrompt;
}

/** Restores a thread and collects its prompts as the conversation grows. */
async function writtenPrompts(
  journal: Journal,
  agentId: AgentId,
  parent: PrefixPoint | undefined,
): Promise<readonly Written[]> {
  const written: Written[] = [];
  let last = parent;
  let beforeLast = parent;
  const addPrompt = (prompt: WrittenPrompt, isRepeated: boolean): void => {
    if (isRepeated) written.pop();
    else beforeLast = last;
    const found = prefixPoints(prompt.view, beforeLast);
    written.push({ prompt, ...found });
    last = found.points.at(-1) ?? beforeLast;
  };
  await new Thread(agentId, journal, addPrompt).restore();
  return written;
}

interface Recorded {
  readonly lines: readonly Line[];
  readonly parent: SentPrompt | undefined;
}

function promptsIn(written: readonly Written[], { lines, parent }: Recorded): readonly SentPrompt[] {
  const answers = answersIn(lines);
  const prompts: SentPrompt[] = [];
  for (const [index, { prompt, head, points, continues }] of written.entries()) {
    const before = prompts.at(-1) ?? parent;
    // A request without new points repeats the previous request.
    const end = points.at(-1) ?? before?.end ?? { key: "", bytes: 0 };
    const fingerprint = answers[index]?.fingerprint;
    prompts.push({
      prompt,
      bytes: end.bytes,
      head,
      end,
      continues: continues ? before : undefined,
      points,
      before,
      isChanged: fingerprint !== undefined && !end.key.endsWith(fingerprint),
    });
  }
  return prompts;
}

type AnswerLine = Line & EventOf<"model.ended" | "model.failed">;

/** Returns the responses in the order of their requests; undefined for a request without one. */
function answersIn(lines: readonly Line[]): readonly (AnswerLine | undefined)[] {
  const answers: (AnswerLine | undefined)[] = [];
  for (const line of lines) {
    if (line.type === "model.requested") answers.push(undefined);
    if (answers.length > 0 && (line.type === "model.ended" || line.type === "model.failed"))
      answers[answers.length - 1] = line;
  }
  return answers;
}

function requestsIn(lines: readonly Line[], prompts: readonly SentPrompt[]): readonly SentRequest[] {
  const answers = answersIn(lines);
  const requests: SentRequest[] = [];
  let run: (Line & EventOf<"run.started">) | undefined;
  let change: ConversationChange | undefined;
  let count = 0;
  for (const line of lines) {
    const last = requests.at(-1);
    // This line comes after the request, which is sent again.
    if (line.type === "thinking.dropped" && line.resends !== undefined && last)
      requests[requests.length - 1] = { ...last, change: "thinking" };
    else change = changeIn(line) ?? change;
    if (line.type === "run.started") run = line;
    if (run === undefined) continue;
    const { agentId, agentType, model, prices, cacheMinimumTokens } = run;
    const common = { agentId, agentType, model, prices, cacheMinimumTokens };
    if (line.type === "model.requested") {
      const prompt = prompts[count];
      requests.push({ ...common, turn: line.turn, sentAt: line.at, answer: answerOf(answers[count]), prompt, change });
      change = undefined;
      count += 1;
    }
    if (line.type === "conversation.compacted" && line.usage) {
      const answer = { at: line.at, usage: line.usage, costUsd: line.costUsd };
      const sentAt = line.at - (line.milliseconds ?? 0);
      requests.push({ ...common, turn: requests.at(-1)?.turn ?? 0, sentAt, answer, prompt: undefined });
    }
  }
  return requests;
}

function changeIn(line: Line): ConversationChange | undefined {
  if (line.type === "conversation.compacted") return "compaction";
  if (line.type === "conversation.rewound") return "rewind";
  if (line.type === "thinking.dropped") return "thinking";
  return line.type === "head.set" && line.reason !== "start" && line.reason !== "fork" ? line.reason : undefined;
}

function answerOf(line: AnswerLine | undefined): Answer | undefined {
  return line?.usage && { at: line.at, usage: line.usage, costUsd: line.costUsd };
}
