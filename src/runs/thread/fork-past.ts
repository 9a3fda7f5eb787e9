import type { Chain, SharedPrefix, WrittenPrompt } from "../../conversation/index.ts";
import type { Journal } from "../../ports/index.ts";
import type { AgentId, ForkOrigin, Line } from "../../protocol/index.ts";

/** A conversation that another goes on from. */
export interface Past {
  readonly chain: Chain;
  readonly headHash: string | undefined;
  /** Its newest request. */
  readonly prompt: WrittenPrompt | undefined;
  /** Made in it, and in those that it goes on from. */
  readonly requests: number;
  /** Only its newest turns are there. */
  readonly isBounded: boolean;
  /** Its bytes are those that were there when it was forked. */
  readonly isSame: boolean;
}

/** Whose conversation can be gone on from. */
export interface Branching {
  readonly conversation: Chain | undefined;
  readonly headHash: string | undefined;
  readonly newestPrompt: WrittenPrompt | undefined;
  readonly requests: number;
}

export interface BranchWish {
  /** Only so many of the newest turns. */
  readonly turns?: number | undefined;
  /** The same for siblings. */
  readonly prefix?: SharedPrefix | undefined;
}

/** What a fork of this conversation begins with; it shares every byte, or copies those of its newest turns. */
export function branch(source: Branching, { turns, prefix }: BranchWish): Past | undefined {
  const { conversation, headHash, newestPrompt, requests } = source;
  if (conversation === undefined) return undefined;
  const bounded = turns === undefined ? undefined : conversation.newestTurns(turns, leftOut);
  const chain = bounded ?? conversation.fork(prefix);
  return { chain, headHash, prompt: newestPrompt, requests, isBounded: bounded !== undefined, isSame: true };
}

const leftOut = "[Earlier turns of this conversation are left out.]";

/** Restores an agent up to a line, without a word to its journal. */
export type Replay = (agentId: AgentId, lines: readonly Line[]) => Promise<Branching>;

/** The same from the transcript of who was forked; undefined where that is gone. */
export async function readPast(origin: ForkOrigin, journal: Journal, replay: Replay): Promise<Past | undefined> {
  const { source, prefix } = restored(origin, journal, replay);
  const found = await source;
  const past = found && branch(found, { turns: origin.turns, prefix });
  return past && { ...past, isSame: past.chain.fingerprint() === origin.hash };
}

interface Restored {
  readonly place: string;
  readonly source: Promise<Branching | undefined>;
  readonly prefix: SharedPrefix;
}

/** The newest one: siblings come one after the other, and share what is restored as they shared what was there. */
const newest = new WeakMap<Journal, Restored>();

function restored({ agentId, line }: ForkOrigin, journal: Journal, replay: Replay): Restored {
  const place = `${agentId} ${line}`;
  const known = newest.get(journal);
  if (known?.place === place) return known;
  const source = journal.read(agentId).then((lines) => {
    const end = lines.findIndex(({ id, type }) => id === line && type === "model.ended");
    return end === -1 ? undefined : replay(agentId, lines.slice(0, end + 1));
  });
  const fresh = { place, source, prefix: {} };
  newest.set(journal, fresh);
  // What could not be read may be read the next time.
  source.catch(() => newest.delete(journal));
  return fresh;
}
