import type { Journal } from "../ports/index.ts";
import type { ReadSession } from "../transcript/index.ts";

/** The part of a session that reports are based on. */
export type RecordedSession = Pick<ReadSession, "sessionId" | "agents" | "read" | "loadHead">;

/**
 * Returns a journal for replaying a session. It discards the lines that a replay appends to repair a transcript. It
 * reads each file once, because agents share heads, and forks share their parent's conversation.
 */
export function asJournal({ sessionId, agents, read, loadHead }: RecordedSession): Journal {
  const refuse = async (): Promise<never> => {
    throw new Error("a replayed session is read-only");
  };
  return {
    sessionId,
    agents,
    read: memoized(read),
    loadHead: memoized(loadHead),
    append: async () => [],
    sync: async () => {},
    syncSoon: () => {},
    output: () => undefined,
    saveHead: refuse,
    close: async () => {},
  };
}

function memoized<T>(read: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (name) => {
    const found = known.get(name) ?? read(name);
    known.set(name, found);
    return found;
  };
}
