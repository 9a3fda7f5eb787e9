import { headLength, type SharedPrefix } from "../../conversation/index.ts";
import { createDeferred, withTimeLimit } from "../../lib/index.ts";
import type { Model, ModelProgress, ModelRequest } from "../../ports/index.ts";
import {
  type CallId,
  type ForkOrigin,
  type Head,
  type LineId,
  type Message,
  type ModelOutcome,
  textOf,
} from "../../protocol/index.ts";
import type { LiveAgent } from "../host/run-host.ts";
import { orAbort } from "../or-abort.ts";
import { branch, type Past } from "../thread/fork-past.ts";
import type { Thread } from "../thread/thread.ts";
import type { PreparedAgent } from "./prepared-agent.ts";

export interface ForkStart {
  readonly origin: ForkOrigin;
  readonly prepared: PreparedAgent;
  /** Text blocks of the first message. */
  readonly prompt: readonly string[];
}

/**
 * Starts siblings (agents started by the calls in one response) so that they share the provider's cache. Forks continue
 * their parent's conversation and share its bytes.
 */
export class Siblings {
  /** For each parent and kind of agent: the siblings that the parent's newest response starts. */
  private readonly groups = new Map<string, Group>();

  /**
   * Prepares an agent that does not continue a conversation. If the provider can cache the head, siblings with the same
   * head wait for the first one.
   */
  startFresh(prepared: PreparedAgent, parent: Thread): PreparedAgent {
    const { agent, model } = prepared;
    if (!canBeCached(agent.head, model)) return prepared;
    const { gate } = this.groupOf(parent, { kind: `fresh ${agent.agentType}`, head: agent.head });
    return { ...prepared, model: gate.guard(model) };
  }

  /** Makes a new thread continue its parent's conversation after the parent's newest response. */
  startFork(
    thread: Thread,
    prepared: PreparedAgent,
    {
      parent,
      prompt,
      turns,
    }: { readonly parent: LiveAgent; readonly prompt: string; readonly turns: number | undefined },
  ): ForkStart {
    const { inherits: kind = "fork" } = prepared;
    const { gate, siblings } = this.groupOf(parent.thread, {
      kind: `${prepared.agent.agentType} ${turns ?? "all"}`,
    });
    const { origin, past } = forkPoint(parent.thread, { kind, turns, siblings });
    thread.inherit(past);
    prepared.executor.inherit?.(thread.agentId, parent.agentId);
    const model = gate.guard(prepared.model);
    const bounded = origin.turns === undefined ? [] : [boundedNotice(origin.turns)];
    return {
      origin,
      prepared: { ...prepared, model, notices: [...prepared.notices, ...bounded] },
      prompt: [prompt],
    };
  }

  /**
   * Returns the group of siblings for a new agent. Agents that start without a conversation are siblings only if they
   * have the same head.
   */
  private groupOf(parent: Thread, { kind, head }: { readonly kind: string; readonly head?: Head }): Group {
    const key = `${parent.agentId} ${kind}`;
    const known = this.groups.get(key);
    if (known !== undefined && known.line === parent.answerLine && known.head === head) return known;
    const gate = new SiblingGate(head === undefined ? LONGEST_WAIT_MS.fork : LONGEST_WAIT_MS.fresh);
    const group = { line: parent.answerLine, head, gate, siblings: forkSiblings(parent) };
    this.groups.set(key, group);
    return group;
  }
}

interface Group {
  readonly line: LineId | undefined;
  readonly head: Head | undefined;
  readonly gate: SiblingGate;
  readonly siblings: ForkSiblings;
}

/** Lower bound on bytes per token, so that a head that is long enough to be cached is not considered too short. */
const LEAST_BYTES_PER_TOKEN = 3;

function canBeCached(head: Head, model: Model): boolean {
  const { cacheMinimumTokens = Number.POSITIVE_INFINITY } = model.describe();
  return headLength(head) >= cacheMinimumTokens * LEAST_BYTES_PER_TOKEN;
}

/** Data shared by all forks that were started by calls in the same response. */
export interface ForkSiblings {
  readonly prefix: SharedPrefix;
  readonly calls: readonly CallId[];
}

export function forkSiblings({ state }: Thread): ForkSiblings {
  return { prefix: {}, calls: state.calls.map(({ call }) => call.callId) };
}

/** Returns the conversation that a new fork continues, and the `ForkOrigin` that the fork's transcript records. */
export function forkPoint(
  thread: Thread,
  {
    kind,
    turns,
    siblings,
  }: { readonly kind: ForkOrigin["kind"]; readonly turns?: number | undefined; readonly siblings: ForkSiblings },
): { readonly origin: ForkOrigin; readonly past: Past } {
  const { agentId, answerLine, state } = thread;
  const { prefix, calls } = siblings;
  const past = branch(thread, { turns, prefix });
  if (past === undefined || answerLine === undefined) throw new Error(`agent ${agentId} has no response to fork from`);
  const { tokens, basis } = state.context;
  const origin: ForkOrigin = {
    kind,
    agentId,
    line: answerLine,
    hash: past.chain.fingerprint(),
    calls,
    turns: past.isBounded ? turns : undefined,
    tokens: basis === "none" || past.isBounded ? undefined : tokens,
    environment: past.isBounded ? undefined : state.environment,
  };
  return { origin, past };
}

/** First words of `FORK_INTRODUCTION`, the same in all versions of Retinue. */
const OPENING = "You are a fork of the agent";

/** Returns whether a conversation belongs to a fork. Used for agents whose record was lost. */
export function isForkConversation(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === "user" && textOf(content).includes(OPENING));
}

function boundedNotice(turns: number): string {
  const what = turns === 1 ? "the newest turn" : `the ${turns} newest turns`;
  return `The fork has only ${what} of the conversation, so none of its messages can be read from the cache.`;
}

/**
 * Maximum time that siblings wait for the first response to begin. Most responses begin sooner, and a longer wait would
 * cost more time than the cache saves. Fresh agents share less than forks, so they wait less.
 */
const LONGEST_WAIT_MS = { fork: 10_000, fresh: 3_000 };

/**
 * Sends the first request of a group of siblings alone. The other siblings wait until its response begins, because the
 * provider's cache does not contain the shared prefix before that. Delays only the first request of each sibling, and
 * only for a limited time.
 */
export class SiblingGate {
  private readonly opened = createDeferred<void>();
  private readonly longestWaitMs: number;
  private isLed = false;
  private isOpen = false;

  constructor(longestWaitMs = LONGEST_WAIT_MS.fork) {
    this.longestWaitMs = longestWaitMs;
  }

  /** Wraps a sibling's model so that its first request waits. */
  guard(model: Model): Model {
    let isFirst = true;
    return {
      describe: () => model.describe(),
      call: (request, emit) => {
        const passes = !isFirst || this.isOpen;
        isFirst = false;
        if (passes) return model.call(request, emit);
        if (this.isLed) return this.follow(model, request, emit);
        this.isLed = true;
        return this.lead(model, request, emit);
      },
    };
  }

  private async lead(model: Model, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
    const outcome = await model.call(request, (progress) => {
      if (answers.has(progress.type)) this.open();
      emit(progress);
    });
    this.open();
    return outcome;
  }

  private async follow(model: Model, request: ModelRequest, emit: Emit): Promise<ModelOutcome> {
    emit({ type: "waiting" });
    await withTimeLimit(request.signal, this.longestWaitMs, (signal) => orAbort(this.opened.promise, signal));
    emit({ type: "sent" });
    return model.call(request, emit);
  }

  private open(): void {
    this.isOpen = true;
    this.opened.resolve();
  }
}

type Emit = (progress: ModelProgress) => void;

const answers: ReadonlySet<ModelProgress["type"]> = new Set(["text.delta", "thinking.delta", "call.delta"]);
