import { newSessionId, plural } from "../../lib/index.ts";
import type { WorkerPort, WorkerSession } from "../../ports/index.ts";
import { type Line, MAIN_AGENT, type ToolCall } from "../../protocol/index.ts";
import { Thread } from "../../runs/index.ts";
import {
  createMemoryTranscript,
  createTranscript,
  openTranscript,
  type Transcript,
  type Trouble,
} from "../../transcript/index.ts";
import { createLocalWorker, type LocalWorkerOptions } from "../../worker/index.ts";
import { loadAgents } from "../agents/load-agents.ts";
import { stateDirectory } from "../directories.ts";
import type { Session } from "../session/session.ts";
import { chooseSessionModel } from "../settings/choose-model.ts";
import { VERSION } from "../version.ts";
import { assembleSession, type OpenedThread } from "./assemble-session.ts";
import { checkSessionOptions } from "./check-session-options.ts";
import { checkTranscript, guardTranscript } from "./guard-transcript.ts";
import { createLiveRules } from "./live-rules.ts";
import { recallUntilClosed } from "./recall-until-closed.ts";
import { createOwnContext, type OwnContext, type SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";
import { beginningMode, checkMode } from "./session-permissions.ts";
import { openWorker } from "./session-tools.ts";

/** Opens a new session, or resumes one. Throws a `UserError` for problems that the user must fix. */
export function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionOn(options, (worker) => options.worker ?? createLocalWorker(worker));
}

/** Opens a session whose worker is created by a function. The session itself reads nothing from the workspace. */
export async function openSessionOn(
  options: SessionOptions,
  createWorker: (worker: LocalWorkerOptions) => WorkerPort,
): Promise<Session> {
  checkSessionOptions(options);
  checkMode(options.settings ?? {}, options.permissionMode);
  await checkTranscript(options);
  const own = createOwnContext(options);
  const worker = createWorker(workerOptions(options, own));
  const facts = worker.describe();
  const context: SessionContext = { ...own, cwd: facts.root, facts };
  const stopWaiting = () => context.stopWaiting.abort();
  options.signal?.addEventListener("abort", stopWaiting, { once: true });
  let opened: OpenedThread | undefined;
  try {
    opened = options.resume === undefined ? undefined : await openThread(options, context, worker);
    const main = await loadAgents(options, context, { worker, before: opened?.thread.agentType });
    const chosen = chooseSessionModel(options, context, main.definition);
    // A new session's files are opened last, so that a session that can't start leaves no files behind.
    opened ??= await openThread(options, context, worker);
    const permissionMode = beginningMode(options, context, opened.thread.state.mode);
    const live = options.rules === undefined ? undefined : createLiveRules(options, worker);
    return await assembleSession({ ...options, permissionMode }, { context, main, chosen, live, ...opened });
  } catch (error) {
    await opened?.worker.close({ keepsCalls: true });
    await (opened?.transcript ?? options.transcript)?.close();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", stopWaiting);
  }
}

function workerOptions({ cwd: root = process.cwd(), onTrouble }: SessionOptions, own: OwnContext): LocalWorkerOptions {
  const { home, environment, clock } = own;
  const report = (message: string): void => onTrouble?.(message);
  return { root, home, state: stateDirectory(environment), environment, clock, version: VERSION, report };
}

/** Opens a session's transcript and its worker, and restores its main agent's thread. */
async function openThread(options: SessionOptions, context: SessionContext, port: WorkerPort): Promise<OpenedThread> {
  const transcript = await openFiles(options, context);
  let worker: WorkerSession | undefined;
  try {
    const thread = new Thread(MAIN_AGENT, transcript);
    // This process has the lock, so processes tagged with this session were left behind by a process that was killed.
    if (transcript.leftOpen) await port.sweep(transcript.sessionId);
    worker = await openWorker(options, { context, transcript, worker: port });
    const recall = recallUntilClosed(worker.executor(context.cwd), context);
    const ended = options.resume === undefined ? [] : await thread.restore({ recall });
    await thread.recordCleaned();
    return { transcript, thread, worker, notices: unknownOutcomes(thread, ended) };
  } catch (error) {
    await worker?.close({ keepsCalls: true });
    if (options.transcript === undefined) await transcript.close();
    throw error;
  }
}

/** Returns a message about the calls that a lost process left without an outcome. */
function unknownOutcomes({ state }: Thread, ended: readonly Line[]): readonly string[] {
  const ids = ended.flatMap((line) =>
    line.type === "tool.ended" && line.result.outcome === "unknown" ? [line.callId] : [],
  );
  if (ids.length === 0) return [];
  const calls = state.calls.flatMap(({ call }) => (ids.includes(call.callId) ? [shown(call)] : []));
  const [their, them] = ids.length === 1 ? ["its outcome is", "the call"] : ["their outcomes are", "them"];
  return [
    `The process ended during ${plural(ids.length, "call")} of the main agent, so ${their} unknown: ${calls.join("; ")}. The model is told to check before it repeats ${them}.`,
  ];
}

function shown({ name, inputJson }: ToolCall): string {
  return `${name} ${inputJson.length > 200 ? `${inputJson.slice(0, 199)}…` : inputJson}`;
}

async function openFiles(
  { resume, transcript, home: keepsFiles, onTrouble }: SessionOptions,
  { cwd, home, clock, stopWaiting: { signal: stopWaiting } }: SessionContext,
): Promise<Transcript> {
  if (transcript !== undefined) return guardTranscript(transcript, { closing: stopWaiting });
  const sessionId = resume ?? newSessionId();
  if (keepsFiles === false) return createMemoryTranscript({ sessionId, clock });
  const files = { home, cwd, sessionId, clock, stopWaiting, onTrouble: ({ message }: Trouble) => onTrouble?.(message) };
  return resume === undefined ? createTranscript(files) : openTranscript(files);
}
