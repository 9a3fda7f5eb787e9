import type { Beginning } from "../../conversation/index.ts";
import type { CallId, ForkOrigin } from "../../protocol/index.ts";
import { branch, type Past } from "../thread/fork-past.ts";
import type { Thread } from "../thread/thread.ts";

export interface ForkPoint {
  readonly origin: ForkOrigin;
  readonly past: Past;
}

/** What forks of one answer have in common: kept once, however many they are. */
export interface Siblings {
  readonly beginning: Beginning;
  readonly calls: readonly CallId[];
}

export function siblingsOf({ state }: Thread): Siblings {
  return { beginning: {}, calls: state.calls.map(({ call }) => call.callId) };
}

export interface ForkPointWish {
  readonly kind: ForkOrigin["kind"];
  readonly turns?: number | undefined;
  readonly siblings: Siblings;
}

/** What an agent that goes on from this one's newest answer begins with, and how its transcript says so. */
export function forkPoint(thread: Thread, { kind, turns, siblings }: ForkPointWish): ForkPoint {
  const { agentId, answerLine, state } = thread;
  const { beginning, calls } = siblings;
  const past = branch(thread, { turns, beginning });
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
