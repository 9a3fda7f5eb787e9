import type { Chain, SharedPrefix, WrittenPrompt } from "../../conversation/index.ts";
import type { Journal } from "../../ports/index.ts";
import { type AgentId, type ForkOrigin, type Line, runtimeText } from "../../protocol/index.ts";

/** A conversation that a fork continues. */
export interface Past {
  readonly chain: Chain;
  readonly headHash: string | undefined;
  /** Newest request in the conversation. */
  readonly prompt: WrittenPrompt | undefined;
  /** Number of requests made in this conversation and in those that it continues. */
  readonly requests: number;
  /** Whether only the newest turns are included. */
  readonly isBounded: boolean;
  /** Whether the bytes are the same as when the fork was created. */
  readonly isSame: boolean;
}

/** The part of a thread that a fork needs. */
export interface ForkSource {
  readonly conversation: Chain | undefined;
  readonly headHash: string | undefined;
  readonly newestPrompt: WrittenPrompt | undefined;
  readonly requests: number;
}

export interface BranchOptions {
  /** Number of newest turns to include. If absent, all are included. */
  readonly turns?: number | undefined;
  /** Prefix shared by sibling forks. */
  readonly prefix?: SharedPrefix | undefined;
  /** Text in place of earlier turns. */
  readonly omitted?: string | undefined;
}

/**
 * Returns the conversation that a fork continues. It shares all bytes of the source's conversation, or contains a copy
 * of the newest turns.
 */
export function branch(source: ForkSource, { turns, prefix, omitted = OMITTED }: BranchOptions): Past | undefined {
  const { conversation, headHash, newestPrompt, requests } = source;
  if (conversation === undefined) return undefined;
  const bounded = turns === undefined ? undefined : conversation.newestTurns(turns, omitted);
  const chain = bounded ?? conversation.fork(prefix);
  return { chain, headHash, prompt: newestPrompt, requests, isBounded: bounded !== undefined, isSame: true };
}

const OMITTED = runtimeText("Earlier turns of this conversation are omitted.");
/** Text that earlier versions used. Their forks keep it, so that the bytes of their conversations stay the same. */
const OMITTED_BEFORE = "[Earlier turns of this conversation are omitted.]";

/** Restores an agent from its lines, without writing to its journal. */
export type Replay = (agentId: AgentId, lines: readonly Line[]) => Promise<ForkSource>;

/**
 * Restores the conversation that a fork continues from the transcript of the forked agent. Returns undefined if the
 * transcript is missing or lacks the line from which the fork continues.
 */
export async function readPast(origin: ForkOrigin, journal: Journal, replay: Replay): Promise<Past | undefined> {
  const { source, prefix } = restoreSource(origin, journal, replay);
  const found = await source;
  if (found === undefined) return undefined;
  const { turns, hash } = origin;
  const isSame = (past: Past | undefined): boolean => past?.chain.fingerprint() === hash;
  const past = branch(found, { turns, prefix });
  if (past === undefined || isSame(past)) return past;
  const before = past.isBounded ? branch(found, { turns, omitted: OMITTED_BEFORE }) : undefined;
  return isSame(before) ? before : { ...past, isSame: false };
}

interface RestoredSource {
  readonly key: string;
  readonly source: Promise<ForkSource | undefined>;
  readonly prefix: SharedPrefix;
}

/**
 * Most recently restored source for each journal. Sibling forks are restored one after the other, so they can share the
 * source.
 */
const newest = new WeakMap<Journal, RestoredSource>();

function restoreSource({ agentId, line }: ForkOrigin, journal: Journal, replay: Replay): RestoredSource {
  const key = `${agentId} ${line}`;
  const known = newest.get(journal);
  if (known?.key === key) return known;
  const source = journal.read(agentId).then((lines) => {
    const end = lines.findIndex(({ id, type }) => id === line && type === "model.ended");
    return end === -1 ? undefined : replay(agentId, lines.slice(0, end + 1));
  });
  const fresh = { key, source, prefix: {} };
  newest.set(journal, fresh);
  // After an error, a later attempt to read the source may succeed.
  source.catch(() => newest.delete(journal));
  return fresh;
}
