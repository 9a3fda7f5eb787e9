import type { ForkOrigin } from "../protocol/index.ts";
import { branch, type Past } from "./fork-past.ts";
import type { Thread } from "./thread.ts";

export interface ForkPoint {
  readonly origin: ForkOrigin;
  readonly past: Past;
}

/** What an agent that goes on from this one's newest answer begins with, and how its transcript says so. */
export function forkPoint(thread: Thread, { kind, turns }: Pick<ForkOrigin, "kind" | "turns">): ForkPoint {
  const { agentId, answerLine, state } = thread;
  const past = branch(thread, turns);
  if (past === undefined || answerLine === undefined) throw new Error(`agent ${agentId} forks without an answer`);
  const { tokens, basis } = state.context;
  const origin: ForkOrigin = {
    kind,
    agentId,
    line: answerLine,
    hash: past.chain.fingerprint(),
    calls: state.calls.map(({ call }) => call.callId),
    ...(turns === undefined ? {} : { turns }),
    ...(basis === "none" || turns !== undefined ? {} : { tokens }),
  };
  return { origin, past };
}
