import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import {
  findAgentId,
  giveAnswer,
  hasUnfinishedWork,
  readCost,
  readServedRecord,
  type Session,
  settledAnswer,
  steerSession,
  unmatchedAgent,
  writeServedRecord,
} from "../../app/index.ts";
import { createDeferred, createId, type Deferred, describeError, UserError } from "../../lib/index.ts";
import {
  type ApprovalAnswer,
  type Command,
  MAIN_AGENT,
  type Receipt,
  type SessionId,
  THE_PROGRAM,
} from "../../protocol/index.ts";
import { HttpProblem, problem } from "../http/problem.ts";
import { isSettledWithin } from "./follow-updates.ts";
import type { Projects } from "./projects.ts";
import { SessionAgents } from "./session-agents.ts";
import type { CatalogSession, SessionCatalog } from "./session-catalog.ts";
import type { ServedSession, SessionHost } from "./session-host.ts";

export interface ControlContext {
  readonly projects: Projects;
  readonly host: SessionHost;
  readonly catalog: SessionCatalog;
  readonly report: (message: string) => void;
}

interface Resumption {
  /** Settles when Retinue has begun to open the session. */
  readonly begun: Deferred<void>;
  readonly done: Deferred<void>;
}

/** Maximum number of sessions that are resumed at the same time. */
const AT_ONCE = 4;

/** Steers sessions: directly if they are open here, and through their inboxes if they are open in other processes. */
export class SessionControl {
  private readonly context: ControlContext;
  private readonly resuming = new Map<SessionId, Resumption>();

  constructor(context: ControlContext) {
    this.context = context;
  }

  /**
   * Carries out a command. A session that is not open is opened first. Throws an `HttpProblem` if another command was
   * sent with the same id, or if the command can't be recorded because the disk is full.
   */
  async send(session: CatalogSession, command: Command): Promise<Receipt> {
    const receipt = await unlessDiskIsFull(
      session,
      stopsSession(command)
        ? this.stop(session, command)
        : this.carryOut(session, command).catch((error) => this.keepPrompt(error, session, command)),
    );
    if (receipt.code === "id_in_use") throw problem("conflict", receipt.message);
    return receipt;
  }

  /** Stops a session's main agent, even if the session is waiting for a call or for its worker. */
  private async stop(session: CatalogSession, command: Command): Promise<Receipt> {
    const receipt = this.carryOut(session, command);
    this.context.projects.cancelRecalled(session.project, session.id, receipt);
    try {
      return await receipt;
    } catch (error) {
      if (isWorkerLost(error)) return this.stopParked(session, command);
      throw error;
    }
  }

  /** Puts a prompt for a session whose worker is lost into its inbox. Throws the error for everything else. */
  private async keepPrompt(error: unknown, session: CatalogSession, { id, ...command }: Command): Promise<Receipt> {
    const isText = command.type === "prompt" && command.content.every(({ type }) => type === "text");
    if (!isWorkerLost(error) || !isText) throw error;
    const { path, project } = session;
    const refusal = await refuseUnknownAgent(path, { id, to: command.to });
    if (refusal !== undefined) return refusal;
    const { receipt } = await steerSession({ home: project.home, sessionId: session.id, command, id });
    if (receipt !== undefined) return receipt;
    // This makes sure that the session is opened when the worker returns.
    await writeServedRecord(path, { v: 1, choices: readServedRecord(path)?.choices ?? {}, open: true });
    const message = `The worker ${project.name} is not connected. The message is in the session's inbox and will be delivered when the worker returns.`;
    return { commandId: id, status: "done", message };
  }

  /** Records that a session whose worker is not connected does not continue when the worker returns. */
  private async stopParked({ id: sessionId, path, project }: CatalogSession, { id }: Command): Promise<Receipt> {
    const record = readServedRecord(path);
    if (record?.open) await writeServedRecord(path, { ...record, open: false });
    if (!hasUnfinishedWork({ home: project.home, sessionId }))
      return { commandId: id, status: "done", message: "Nothing was running." };
    const message = `The session is stopped. It will not continue automatically when the worker ${project.name} returns; a prompt will then resume it.`;
    return { commandId: id, status: "done", message };
  }

  private async carryOut(session: CatalogSession, command: Command): Promise<Receipt> {
    await this.resuming.get(session.id)?.done.promise;
    const { host } = this.context;
    const isOpenHere = host.has(session.id);
    if (isOpenHere || !session.summary.inUse) {
      const receipt = await this.whereOpen(session, async (served): Promise<Receipt> => {
        const { session: open } = served;
        const isResumed = command.type === "resume" && command.agent === MAIN_AGENT && open.state === "idle";
        if (isResumed && hasUnfinishedWork({ home: session.project.home, sessionId: session.id })) {
          await this.continueWork(open);
          return { commandId: command.id, status: "done", message: "The session continues." };
        }
        const given = await open.send(command);
        if (command.type === "configure" && command.model !== undefined && given.status === "done")
          await host.chooseModel(served, command.model);
        // The agent that asked continues with the answer.
        if (command.type === "answer" && !isOpenHere) await this.continueWork(open);
        return given;
      });
      if (receipt !== "elsewhere") return receipt;
    }
    return command.type === "answer" ? this.answerElsewhere(session, command) : this.steer(session, command);
  }

  /** Answers a request for approval. Throws an `HttpProblem` if the request is not waiting for an answer. */
  async answer(session: CatalogSession, requestId: string, answer: ApprovalAnswer): Promise<Receipt> {
    const isWaiting = this.context.catalog
      .requests(session.id)
      .some(({ question }) => question.requestId === requestId);
    if (!isWaiting) {
      const { home } = session.project;
      const known = settledAnswer({ home, sessionId: session.id }, requestId);
      if (known === undefined)
        throw problem("unknown_request", `There is no request ${requestId}. GET /approval lists the open requests.`);
      throw problem("already_answered", known);
    }
    const receipt = await this.send(session, { id: createId("command_"), type: "answer", requestId, answer });
    if (receipt.status === "done") return receipt;
    throw problem("already_answered", `${receipt.message} Only the first answer is used.`);
  }

  /**
   * Resumes the sessions that were working when the last server stopped, a few at a time. For sessions that `isResumed`
   * excludes, only stores their cost. Clients that use one of these sessions have to wait until its cost is stored.
   * Never rejects.
   */
  async resumeAll(
    sessions: readonly CatalogSession[],
    isResumed: (session: CatalogSession) => boolean = () => true,
  ): Promise<void> {
    const waiting = sessions.map((session) => ({
      session,
      resumption: { begun: createDeferred<void>(), done: createDeferred<void>() },
    }));
    for (const { session, resumption } of waiting) this.resuming.set(session.id, resumption);
    const next = async (): Promise<void> => {
      for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
        const { session, resumption } = each;
        const resumed = isResumed(session) ? this.resume(session) : this.settle(session);
        resumption.begun.resolve();
        await resumed.catch((error) => {
          if (!this.context.host.isStopping)
            this.context.report(`The session ${session.id} could not be resumed: ${describeError(error)}`);
        });
        // If the worker has connected in the meantime, a later call resumes the session, and commands wait for it.
        if (this.resuming.get(session.id) === resumption) this.resuming.delete(session.id);
        resumption.done.resolve();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }

  /** Settles when Retinue has at least begun to open a session that is to be resumed. */
  async begun(id: SessionId): Promise<void> {
    await this.resuming.get(id)?.begun.promise;
  }

  private async resume(session: CatalogSession): Promise<void> {
    if (isUnfinished(session)) await this.whereOpen(session, ({ session: open }) => this.continueWork(open));
    else await this.settle(session);
  }

  /** Stores the cost of a session that was open when the server was killed. */
  private async settle(session: CatalogSession): Promise<void> {
    const { id, path } = session;
    const record = readServedRecord(path);
    if (record === undefined || record.costUsd !== undefined) return;
    const cost = await readCost(path);
    // If its worker has connected in the meantime, the session may be open again.
    if (!this.context.host.has(id)) await writeServedRecord(path, { ...record, open: isUnfinished(session), ...cost });
  }

  private async continueWork(session: Session): Promise<void> {
    for (const message of await session.continueWork()) this.context.report(message);
  }

  private async answerElsewhere(
    session: CatalogSession,
    { id, requestId, answer }: Extract<Command, { type: "answer" }>,
  ): Promise<Receipt> {
    const request = this.context.catalog.requests(session.id).find(({ question }) => question.requestId === requestId);
    if (request === undefined)
      return { commandId: id, status: "refused", message: `There is no open request ${requestId}.` };
    try {
      await giveAnswer(request, { ...answer, by: answer.by ?? THE_PROGRAM });
    } catch (error) {
      if (error instanceof UserError) return { commandId: id, status: "refused", message: `${error.message}.` };
      throw error;
    }
    const verb = answer.answer === "allow" ? "allowed" : "denied";
    return { commandId: id, status: "done", message: `${requestId} was ${verb}.` };
  }

  /**
   * Runs an action on a session in this process. Returns `elsewhere` if another process has just opened the session.
   */
  private async whereOpen<Result>(
    session: CatalogSession,
    action: (served: ServedSession) => Promise<Result>,
  ): Promise<Result | "elsewhere"> {
    try {
      return await this.context.host.use(session, action);
    } catch (error) {
      if (error instanceof UserError && error.code === "session_in_use") return "elsewhere";
      throw error;
    }
  }

  private async steer(
    session: CatalogSession,
    { id, ...command }: Exclude<Command, { type: "answer" }>,
  ): Promise<Receipt> {
    if (command.type === "prompt" && command.content.some(({ type }) => type !== "text"))
      throw problem("conflict", "Only text can be sent to a session that another process has open.");
    const { home } = session.project;
    const { isRunning, receipt } = await steerSession({ home, sessionId: session.id, command, id });
    if (receipt !== undefined) return receipt;
    if (!isRunning) return this.carryOut(this.context.catalog.find(session.id), { id, ...command } as Command);
    throw problem(
      "no_answer",
      "The process that has this session open has not answered in time. The command stays in its inbox.",
    );
  }
}

/** Time after which a command without a receipt may be waiting for disk space. */
const UNRECORDED_MS = 3_000;
/** Free space in bytes below which a disk is considered full. */
const LEAST_FREE = 64 * 1024;

/** Waits for a receipt. A session waits until the disk has space, but its clients must know what it is waiting for. */
async function unlessDiskIsFull({ path }: CatalogSession, receipt: Promise<Receipt>): Promise<Receipt> {
  while (!(await isSettledWithin(receipt, UNRECORDED_MS))) {
    const { bavail, bsize } = await statfs(dirname(path)).catch(() => ({ bavail: LEAST_FREE, bsize: 1 }));
    if (bavail * bsize < LEAST_FREE)
      throw problem(
        "disk_full",
        "The disk with the server's state directory is full, so this command is not recorded yet. Free some space there. The command is then carried out, unless the server stops before that.",
      );
  }
  return receipt;
}

function isUnfinished({ id, project: { home } }: CatalogSession): boolean {
  return hasUnfinishedWork({ home, sessionId: id });
}

/** Refuses a command for an agent that is not in the session's transcripts, because it could never be carried out. */
async function refuseUnknownAgent(
  path: string,
  { id, to }: { readonly id: string; readonly to: string },
): Promise<Receipt | undefined> {
  if (to === MAIN_AGENT) return undefined;
  const agents = await new SessionAgents(path).list();
  if (findAgentId(to, agents) !== undefined) return undefined;
  const { message, fix } = unmatchedAgent(to, agents);
  return { commandId: id, status: "refused", message: `${message}. ${fix}`, code: "unknown_agent" };
}

function isWorkerLost(error: unknown): boolean {
  if (error instanceof HttpProblem) return error.problem.code === "worker_lost";
  return error instanceof UserError && error.code === "worker_lost";
}

/** Returns whether a command stops the main agent, alone or with all others. */
function stopsSession(command: Command): boolean {
  return command.type === "stop" && ["tree", "turn", MAIN_AGENT].includes(command.what);
}
