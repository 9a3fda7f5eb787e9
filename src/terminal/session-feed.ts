import {
  agentOf,
  closeAgent,
  foldSession,
  newSessionView,
  openAgent,
  reconnected,
  type SessionView,
  sessionClosed,
  type ViewUpdate,
} from "../client/index.ts";
import { describeError } from "../lib/index.ts";
import type { AgentId } from "../protocol/index.ts";
import type { ClosingWay, TerminalHost } from "./host.ts";
import type { TerminalProgram } from "./program.ts";

/** The session that the terminal shows, and its view. */
export interface SessionFeed {
  readonly view: SessionView;
  /** Undefined while a session is being opened. */
  readonly host: TerminalHost | undefined;
  /** Whether a session is being opened. */
  readonly isOpening: boolean;
  /** Why no session is open. */
  readonly problem: string | undefined;
  /** The error that prevented the session from being opened. */
  readonly failure: unknown;
  /** Resolves with the session when it is open, or with undefined if it can't be opened. */
  readonly opened: Promise<TerminalHost | undefined>;
  /**
   * Opens a new session or the given one, and closes the one that was open. If that fails, reports why and returns false,
   * and the session that was open stays open. Never rejects.
   */
  open(resume?: string, how?: ClosingWay): Promise<boolean>;
  close(how: ClosingWay): Promise<string | undefined>;
  /** Keeps an agent's whole conversation, from its first line, until `unwatch`. Never rejects. */
  watch(agentId: AgentId): Promise<void>;
  unwatch(agentId: AgentId): void;
}

export interface FeedOptions {
  readonly program: TerminalProgram;
  readonly report: (message: string) => void;
  /** Called when a session has been opened, before its updates. */
  readonly onOpened: (host: TerminalHost) => void;
  /** Called after each update, with the previous view. */
  readonly onUpdate: (update: ViewUpdate, before: SessionView) => void;
  readonly onChange: () => void;
}

/**
 * Number of items that are kept for each agent. Printed rows stay in the terminal, and transcripts can be read again.
 */
const KEPT_ITEMS = 200;

export function createSessionFeed({ program, report, onOpened, onUpdate, onChange }: FeedOptions): SessionFeed {
  let view = reconnected(newSessionView({ keep: KEPT_ITEMS }), Date.now());
  let host: TerminalHost | undefined;
  let problem: string | undefined;
  let failure: unknown;
  /** Set while a session is being opened. */
  let opening: AbortController | undefined;
  let opened: Promise<TerminalHost | undefined> = Promise.resolve(undefined);
  let leaving = new AbortController();

  const follow = async (of: TerminalHost, { signal }: AbortController): Promise<void> => {
    const { resumedAt = 0 } = of.facts;
    try {
      for await (const update of of.updates(signal)) {
        if (signal.aborted) return;
        const before = view;
        view = foldSession(view, update);
        if (resumedAt > before.seq && view.seq >= resumedAt) view = sessionClosed(view);
        onUpdate(update, before);
      }
    } catch (error) {
      if (!signal.aborted) report(describeError(error));
    }
  };
  const close = async (how: ClosingWay): Promise<string | undefined> => {
    opening?.abort();
    leaving.abort();
    const closing = host;
    host = undefined;
    return closing?.close(how);
  };
  const start = async (resume: string | undefined, how: ClosingWay): Promise<TerminalHost | undefined> => {
    const before = leaving;
    const own = new AbortController();
    opening?.abort();
    opening = own;
    try {
      const next = await program.open({ resume, report, signal: own.signal });
      // The user has opened another session since, or has left.
      if (own.signal.aborted) {
        await next.close("stop");
        return undefined;
      }
      const closing = host;
      before.abort();
      leaving = own;
      host = next;
      problem = undefined;
      view = reconnected(newSessionView({ keep: KEPT_ITEMS }), Date.now());
      onOpened(next);
      void follow(next, own);
      const message = await closing?.close(how);
      if (message !== undefined) report(message);
      return next;
    } catch (error) {
      if (own.signal.aborted) return undefined;
      if (host !== undefined) report(describeError(error));
      else {
        problem = describeError(error);
        failure = error;
      }
      return host;
    } finally {
      if (opening === own) opening = undefined;
      onChange();
    }
  };
  return {
    get view() {
      return view;
    },
    get host() {
      return host;
    },
    get isOpening() {
      return opening !== undefined;
    },
    get problem() {
      return problem;
    },
    get failure() {
      return failure;
    },
    get opened() {
      return opened;
    },
    open: async (resume, how = "stop") => {
      const before = host;
      opened = start(resume, how);
      await opened;
      return host !== before;
    },
    close,
    watch: async (agentId) => {
      // From now on, nothing is dropped. Items that were dropped before are read from the transcript.
      view = openAgent(view, agentId);
      const { dropped = 0 } = agentOf(view, agentId) ?? {};
      const lines = dropped === 0 ? [] : await host?.lines(agentId).catch(() => undefined);
      if (lines !== undefined) view = openAgent(view, agentId, lines);
      onChange();
    },
    unwatch: (agentId) => {
      view = closeAgent(view, agentId);
    },
  };
}
