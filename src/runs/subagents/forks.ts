import type { SharedPrefix } from "../../conversation/index.ts";
import { type CallId, FORK_WORDS, type ForkOrigin, type LineId, type Message, textOf } from "../../protocol/index.ts";
import type { LiveAgent } from "../host/run-host.ts";
import { branch, type Past } from "../thread/fork-past.ts";
import type { Thread } from "../thread/thread.ts";
import type { PreparedAgent } from "./prepare.ts";
import { SiblingGate } from "./sibling-gate.ts";

export interface ForkStart {
  readonly origin: ForkOrigin;
  readonly prepared: PreparedAgent;
  /** Its first words, one block each. */
  readonly prompt: readonly string[];
}

/** Starts agents that continue the conversation of their parent. Forks of one answer share what they begin with. */
export class Forks {
  /** Siblings of the newest answer of each parent, by kind. */
  private readonly groups = new Map<string, Group>();

  /** Makes the new thread continue from its parent's newest answer. */
  start(
    thread: Thread,
    prepared: PreparedAgent,
    {
      parent,
      prompt,
      turns,
    }: { readonly parent: LiveAgent; readonly prompt: string; readonly turns: number | undefined },
  ): ForkStart {
    const { inherits: kind = "fork" } = prepared;
    const { gate, siblings } = this.groupOf(parent.thread, `${prepared.agent.agentType} ${turns ?? "all"}`);
    const { origin, past } = forkPoint(parent.thread, { kind, turns, siblings });
    thread.inherit(past);
    prepared.executor.inherit?.(thread.agentId, parent.agentId);
    const model = gate.guard(prepared.model);
    const bounded = origin.turns === undefined ? [] : [boundedNotice(origin.turns)];
    return {
      origin,
      prepared: { ...prepared, model, notices: [...prepared.notices, ...bounded] },
      prompt: firstWords(prompt, origin),
    };
  }

  private groupOf(parent: Thread, kind: string): Group {
    const key = `${parent.agentId} ${kind}`;
    const known = this.groups.get(key);
    if (known !== undefined && known.line === parent.answerLine) return known;
    const group = { line: parent.answerLine, gate: new SiblingGate(), siblings: siblingsOf(parent) };
    this.groups.set(key, group);
    return group;
  }
}

interface Group {
  readonly line: LineId | undefined;
  readonly gate: SiblingGate;
  readonly siblings: Siblings;
}

/** What forks of one answer have in common, kept once for all of them. */
export interface Siblings {
  readonly prefix: SharedPrefix;
  readonly calls: readonly CallId[];
}

export function siblingsOf({ state }: Thread): Siblings {
  return { prefix: {}, calls: state.calls.map(({ call }) => call.callId) };
}

/** Returns what an agent begins with that continues this one's newest answer, and how its transcript records that. */
export function forkPoint(
  thread: Thread,
  {
    kind,
    turns,
    siblings,
  }: { readonly kind: ForkOrigin["kind"]; readonly turns?: number | undefined; readonly siblings: Siblings },
): { readonly origin: ForkOrigin; readonly past: Past } {
  const { agentId, answerLine, state } = thread;
  const { prefix, calls } = siblings;
  const past = branch(thread, { turns, prefix });
  if (past === undefined || answerLine === undefined) throw new Error(`agent ${agentId} forks without an answer`);
  const { tokens, basis } = state.context;
  const origin: ForkOrigin = {
    kind,
    agentId,
    line: answerLine,
    hash: past.chain.fingerprint(),
    calls,
    ...(turns === undefined || !past.isBounded ? {} : { turns }),
    ...(basis === "none" || past.isBounded ? {} : { tokens }),
  };
  return { origin, past };
}

/** An agent with a prompt of its own need not be told who it is. */
export function firstWords(prompt: string, { kind }: Pick<ForkOrigin, "kind">): readonly string[] {
  return kind === "fork" ? forkWords(prompt) : [prompt];
}

/** The first words of a fork. What siblings share comes first, in a block of its own. */
export function forkWords(directive: string): readonly string[] {
  return [FORK_WORDS, directive];
}

/** The beginning of the words for forks in all versions. */
const OPENING = "[You are a fork of the agent";

/** Returns whether a conversation is a fork's, for an agent whose record was lost. */
export function speaksToFork(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === "user" && textOf(content).includes(OPENING));
}

function boundedNotice(turns: number): string {
  const what = turns === 1 ? "the newest turn" : `the ${turns} newest turns`;
  return `It was given only ${what} of the conversation: of its messages nothing is read from the cache.`;
}
