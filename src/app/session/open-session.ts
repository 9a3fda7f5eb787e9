import { newSessionId } from "../../lib/index.ts";
import type { WorkerPort } from "../../ports/index.ts";
import { type AgentDefinition, MAIN_AGENT } from "../../protocol/index.ts";
import { Thread } from "../../runs/index.ts";
import {
  createMemoryTranscript,
  createTranscript,
  openTranscript,
  type Transcript,
  type Trouble,
} from "../../transcript/index.ts";
import { createLocalWorker } from "../../worker/index.ts";
import { loadAgents } from "../agents/load-agents.ts";
import { stateDirectory } from "../directories.ts";
import { type ChosenModel, chooseModel } from "../settings/choose-model.ts";
import { VERSION } from "../version.ts";
import { assembleSession, type OpenedTranscript } from "./assemble-session.ts";
import { checkSessionOptions } from "./check-session-options.ts";
import type { Session } from "./session.ts";
import { createSessionContext, type SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";
import { checkMode } from "./session-permissions.ts";

/** Opens a new session, or resumes one. Throws a `UserError` for problems that the user must fix. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  checkSessionOptions(options);
  checkMode(options.settings ?? {}, options.permissionMode);
  const context = createSessionContext(options);
  const worker = createWorker(options, context);
  const stopWaiting = () => context.stopWaiting.abort();
  options.signal?.addEventListener("abort", stopWaiting, { once: true });
  let opened: OpenedTranscript | undefined;
  try {
    opened = options.resume === undefined ? undefined : await openThread(options, context, worker);
    const main = await loadAgents(options, context, { before: opened?.thread.agentType });
    const chosen = chooseSessionModel(options, context, main.definition);
    // The files of a new session are opened last, so that a session that can't start leaves no files.
    opened ??= await openThread(options, context, worker);
    return await assembleSession(options, { context, main, chosen, worker, ...opened });
  } catch (error) {
    await (opened?.transcript ?? options.transcript)?.close();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", stopWaiting);
  }
}

/** Creates the worker of a session, which runs in this process. */
function createWorker({ onTrouble }: SessionOptions, context: SessionContext): WorkerPort {
  const { cwd: root, home, environment, clock } = context;
  const report = (message: string): void => onTrouble?.(message);
  return createLocalWorker({
    root,
    home,
    state: stateDirectory(environment),
    environment,
    clock,
    version: VERSION,
    report,
  });
}

function chooseSessionModel(
  { model, provider }: SessionOptions,
  { settings, environment, clock }: SessionContext,
  agent: AgentDefinition | undefined,
): ChosenModel {
  if (typeof model === "object") return { model, requested: null, reason: "supplied by the program" };
  return chooseModel({ settings, environment, clock, flags: { provider, model }, agent });
}

/** Opens the files of a session and restores the thread of its main agent. */
async function openThread(
  options: SessionOptions,
  context: SessionContext,
  worker: WorkerPort,
): Promise<OpenedTranscript> {
  const transcript = await openFiles(options, context);
  try {
    const thread = new Thread(MAIN_AGENT, transcript);
    // This process has the lock, so processes tagged with this session were left behind by a process that was killed.
    if (transcript.leftOpen) await worker.sweep(transcript.sessionId);
    if (options.resume !== undefined) await thread.restore();
    await thread.recordCleaned();
    return { transcript, thread };
  } catch (error) {
    await transcript.close();
    throw error;
  }
}

async function openFiles(
  { resume, transcript, home: keepsFiles, onTrouble }: SessionOptions,
  { cwd, home, clock, stopWaiting: { signal: stopWaiting } }: SessionContext,
): Promise<Transcript> {
  if (transcript !== undefined) return transcript;
  const sessionId = resume ?? newSessionId();
  if (keepsFiles === false) return createMemoryTranscript({ sessionId, clock });
  const files = { home, cwd, sessionId, clock, stopWaiting, onTrouble: ({ message }: Trouble) => onTrouble?.(message) };
  return resume === undefined ? createTranscript(files) : openTranscript(files);
}
