import { newSessionId, sweepTagged } from "../../lib/index.ts";
import { type AgentDefinition, MAIN_AGENT } from "../../protocol/index.ts";
import { Thread } from "../../runs/index.ts";
import {
  createMemorySession,
  createSession,
  openSession as openTranscript,
  type Session as Transcript,
} from "../../transcript/index.ts";
import { loadDefinedAgents } from "../agents/load-defined-agents.ts";
import { stateDirectory, workspaceDirectory } from "../places.ts";
import { type ChosenModel, chooseModel } from "../settings/choose-model.ts";
import { systemClock } from "../system-clock.ts";
import { assembleSession } from "./assemble-session.ts";
import type { Surroundings } from "./opened-session.ts";
import type { Session } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { checkMode, environmentFor } from "./session-settings.ts";

/** Opens a new session, or an old one to go on with. Throws a `UserError` for what a person must repair. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const { clock = systemClock, settings = {} } = options;
  const environment = environmentFor(settings, options.environment ?? process.env);
  checkMode(settings, options.permissionMode);
  const cwd = workspaceDirectory(options.cwd ?? process.cwd());
  const surroundings = { environment, clock, settings, cwd };
  let files = options.resume === undefined ? undefined : await openThread(options, surroundings);
  try {
    const defined = await loadDefinedAgents(options, { ...surroundings, before: files?.thread.agentType });
    const chosen = choose(options, surroundings, defined.loaded.definition);
    // Only now: a session that can't begin leaves no files.
    files ??= await openThread(options, surroundings);
    return await assembleSession(options, { ...surroundings, ...files, ...defined, chosen });
  } catch (error) {
    await files?.transcript.close();
    throw error;
  }
}

function choose(
  options: SessionOptions,
  { settings, environment, clock }: Surroundings,
  agent: AgentDefinition | undefined,
): ChosenModel {
  const { model, provider } = options;
  if (typeof model === "object") return { model, requested: null, reason: "given by the program" };
  return chooseModel({
    settings,
    environment,
    clock,
    flags: { provider, model },
    agent,
  });
}

/** The files of a session, new or old, and its main agent's life so far. */
async function openThread(
  options: SessionOptions,
  surroundings: Surroundings,
): Promise<{ readonly transcript: Transcript; readonly thread: Thread }> {
  const transcript = await openFiles(options, surroundings);
  try {
    const thread = new Thread(MAIN_AGENT, transcript);
    // The lock says that nobody else has this session: what still carries its tag was left by a process that was killed.
    if (transcript.leftOpen) await sweepTagged(transcript.sessionId);
    if (options.resume !== undefined) await thread.restore();
    await thread.recordCleaned();
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
