import { followSession } from "../../app/index.ts";
import type { SessionClosed, SessionUpdate } from "../../protocol/index.ts";
import type { CatalogSession } from "./session-catalog.ts";
import type { SessionHost } from "./session-host.ts";

interface Following {
  readonly host: SessionHost;
  /** Position of the last recorded update that was processed, which `take` must advance. */
  readonly position: { after: number };
  readonly signal: AbortSignal;
  /** Called once, when all earlier recorded updates have been processed. */
  readonly onCaughtUp?: (() => void) | undefined;
  /**
   * Processes the updates after the position. Returns false if it did not process all of them, so that the rest is read
   * again.
   */
  readonly take: (updates: AsyncIterable<SessionUpdate>) => Promise<boolean>;
}

/**
 * Follows a session until it is closed or the signal fires, wherever it is open: a session that another process had
 * open may be opened here, and vice versa. Returns the reason why the session was closed.
 */
export async function followUpdates(
  { id, path }: CatalogSession,
  { host, position, signal, onCaughtUp, take }: Following,
): Promise<SessionClosed["reason"]> {
  for (;;) {
    const opened = host.opened(id);
    await isSettledWithin(opened, OPENING_MS);
    const served = host.get(id);
    const place = { after: position.after, onCaughtUp };
    const isComplete =
      served === undefined
        ? await take(followSession({ path, ...place, signal: whileClosed(host.has(id) ? opened : undefined, signal) }))
        : await host.hold(served, () => take(served.session.events({ ...place, signal })));
    if (signal.aborted || (isComplete && (served?.closedBy !== undefined || !host.has(id))))
      return served?.closedBy ?? "ended";
  }
}

/** Time to wait for a session that is being opened, before its events are read from its files instead. */
const OPENING_MS = 500;

/** Returns a signal that aborts when the given one does, or when the session has been opened here. */
function whileClosed(opened: Promise<unknown> | undefined, signal: AbortSignal): AbortSignal {
  if (opened === undefined) return signal;
  const settled = new AbortController();
  void opened.then(() => settled.abort());
  return AbortSignal.any([signal, settled.signal]);
}

export async function isSettledWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false);
  });
  const isSettled = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isSettled;
}
