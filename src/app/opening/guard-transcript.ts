import { describeError } from "../../lib/index.ts";
import type { Transcript } from "../../ports/index.ts";
import { type DurableEvent, type Line, MAIN_AGENT } from "../../protocol/index.ts";
import { optionError } from "../check-options.ts";
import type { SessionOptions } from "./session-options.ts";

/** Time limit for a transcript method once the session has begun to close. */
const CLOSING_MS = 10_000;

interface GuardOptions {
  /** Fires when the session is closing. */
  readonly closing: AbortSignal;
  readonly closingMs?: number | undefined;
}

/**
 * Wraps a program's transcript so that it fulfills the `Transcript` contract. A program's method may throw instead of
 * rejecting, return no lines, or never settle. Errors name the method that failed, and their code ends a run with the
 * reason `journal_error`.
 */
export function guardTranscript(transcript: Transcript, { closing, closingMs = CLOSING_MS }: GuardOptions): Transcript {
  const attempt = <Value>(method: string, work: () => Promise<Value>): Promise<Value> =>
    new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const fail = (error: unknown): void => reject(new TranscriptError(method, error));
      const limitTime = (): void => {
        timer = setTimeout(() => fail("it did not finish."), closingMs);
      };
      if (closing.aborted) limitTime();
      else closing.addEventListener("abort", limitTime, { once: true });
      void work()
        .then(resolve, fail)
        .finally(() => {
          clearTimeout(timer);
          closing.removeEventListener("abort", limitTime);
        });
    });
  return {
    sessionId: transcript.sessionId,
    results: transcript.results,
    feed: transcript.feed,
    path: transcript.path,
    inboxPath: transcript.inboxPath,
    problems: transcript.problems,
    leftOpen: transcript.leftOpen,
    checkpoints: transcript.checkpoints,
    append: (agentId, events) =>
      attempt("append", async () => checkLines(await transcript.append(agentId, events), events)),
    sync: (agentId) => attempt("sync", async () => transcript.sync(agentId)),
    syncSoon: (agentId) => transcript.syncSoon(agentId),
    read: (agentId) => attempt("read", async () => transcript.read(agentId)),
    agents: () => attempt("agents", async () => transcript.agents()),
    output: (agentId) => transcript.output(agentId),
    saveHead: (head) => attempt("saveHead", async () => transcript.saveHead(head)),
    loadHead: (hash) => attempt("loadHead", async () => transcript.loadHead(hash)),
    close: () => attempt("close", async () => transcript.close()),
  };
}

class TranscriptError extends Error {
  readonly code = "TRANSCRIPT";

  constructor(method: string, cause: unknown) {
    super(`The transcript's ${method} method failed: ${describeError(cause)}`);
  }
}

function checkLines(lines: unknown, events: readonly DurableEvent[]): readonly Line[] {
  if (Array.isArray(lines) && lines.length === events.length) return lines;
  const returned = Array.isArray(lines) ? `${lines.length}` : `${lines}`;
  throw new Error(`it must return one line for each of the ${events.length} events, but returned ${returned}.`);
}

/** Throws a `UserError` if the `resume` option does not match the lines in the program's transcript. */
export async function checkTranscript({ transcript, resume }: SessionOptions): Promise<void> {
  if (transcript === undefined) return;
  const isEmpty = (await transcript.read(MAIN_AGENT)).length === 0;
  const { sessionId } = transcript;
  if (resume === undefined && !isEmpty) {
    throw optionError(
      `The transcript already contains the session ${sessionId}`,
      `To continue the session, pass \`resume: "${sessionId}"\`. To start another one, pass a new transcript.`,
    );
  }
  if (resume !== undefined && isEmpty) {
    throw optionError(
      `The transcript has no lines, so the session ${sessionId} can't be resumed`,
      "Pass a transcript with the session's lines, or remove resume to start a new session.",
    );
  }
}
