import { newSessionId, sweepTagged } from "../lib/index.ts";
import { MAIN_AGENT } from "../protocol/index.ts";
import { Thread } from "../runs/index.ts";
import {
  createMemorySession,
  createSession,
  openSession as openTranscript,
  type Session as Transcript,
} from "../transcript/index.ts";
import type { Surroundings } from "./opened-session.ts";
import { stateDirectory } from "./places.ts";
import type { SessionOptions } from "./session-options.ts";

/** The files of a session, new or old, and its main agent's life so far. */
export async function openThread(
  options: SessionOptions,
  surroundings: Surroundings,
): Promise<{ readonly transcript: Transcript; readonly thread: Thread }> {
  const transcript = await openFiles(options, surroundings);
  try {
    const thread = new Thread(MAIN_AGENT, transcript);
    // The lock says that nobody else has this session: what still carries its tag was left by a process that was killed.
    if (transcript.leftOpen) await sweepTagged(transcript.sessionId);
    if (options.resume !== undefined) await thread.restore();
    await thread.clean();
    return { transcript, thread };
  } catch (error) {
    await transcript.close();
    throw error;
  }
}

async function openFiles(
  { resume, home, onTrouble }: SessionOptions,
  { cwd, environment, clock }: Surroundings,
): Promise<Transcript> {
  const sessionId = resume ?? newSessionId();
  if (home === false) return createMemorySession({ cwd, sessionId, clock });
  const trouble = onTrouble ? { onTrouble: ({ message }: { message: string }) => onTrouble(message) } : {};
  const files = { home: home ?? stateDirectory(environment), cwd, sessionId, clock, ...trouble };
  return resume === undefined ? createSession(files) : openTranscript(files);
}
