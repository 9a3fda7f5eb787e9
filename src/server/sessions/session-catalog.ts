import {
  type ListedRequest,
  listSessions,
  readServedRecord,
  readWaitingPrompts,
  type SessionSummary,
  waitingRequests,
} from "../../app/index.ts";
import { FileCache, stripControls } from "../../lib/index.ts";
import type { SessionId, SessionInfo, SessionState, WaitingApproval } from "../../protocol/index.ts";
import { clientText } from "../client-text.ts";
import { type HttpProblem, problem } from "../http/problem.ts";
import { type Project, type Projects, workerLost } from "./projects.ts";
import type { ServedSession, SessionHost, SessionPlace } from "./session-host.ts";

/** A session in a served directory. */
export interface CatalogSession extends SessionPlace {
  /** Summary from its files. */
  readonly summary: SessionSummary;
  /** Set if the session is open in this process. */
  readonly served?: ServedSession | undefined;
}

/** Finds the sessions in the served directories, whether they are open here, open in another process, or closed. */
export class SessionCatalog {
  private readonly projects: Projects;
  private readonly host: SessionHost;
  private readonly cache = new FileCache();
  /** Caches the prompts that are waiting, under the same paths as `cache`. */
  private readonly waitingCache = new FileCache();

  constructor({ projects, host }: CatalogOptions) {
    this.projects = projects;
    this.host = host;
  }

  /** Lists all sessions, newest first. */
  list(): readonly SessionInfo[] {
    const waiting = new Map<SessionId, number>();
    for (const { question } of this.approvals())
      waiting.set(question.sessionId, (waiting.get(question.sessionId) ?? 0) + 1);
    return this.all()
      .map((session) => this.infoOf(session, waiting.get(session.id) ?? 0))
      .sort((left, right) => right.updatedAt - left.updatedAt);
  }

  /** Finds a session by its complete id. Throws an `HttpProblem` if no served directory has such a session. */
  find(id: SessionId): CatalogSession {
    const found = this.all().find((session) => session.id === id);
    if (found === undefined) throw unknownSession(id);
    return found;
  }

  info(session: CatalogSession): SessionInfo {
    return this.infoOf(session, this.approvals(session.id).length);
  }

  /** Lists the requests for approval that are waiting for an answer, oldest first. */
  approvals(sessionId?: SessionId): readonly WaitingApproval[] {
    return this.requests(sessionId).map(({ question, askedAt }) => ({ question, askedAt }));
  }

  /** Lists the same requests as `approvals`, with their inboxes. */
  requests(sessionId?: SessionId): readonly ListedRequest[] {
    const { cache } = this;
    const search = sessionId === undefined ? { cache } : { cache, sessionId };
    return this.projects
      .all()
      .flatMap((project) => waitingRequests({ ...search, ...placeOf(project) }))
      .sort((left, right) => left.askedAt - right.askedAt);
  }

  /**
   * Lists the sessions that were open on a server and that no process has open now; with a worker's name, only that
   * worker's sessions.
   */
  leftOpen(worker?: string): readonly CatalogSession[] {
    return this.all().filter(({ summary, path, project }) => {
      if (worker !== undefined && project.name !== worker) return false;
      return !summary.inUse && readServedRecord(path)?.open === true;
    });
  }

  private infoOf({ id, project, path, summary, served }: CatalogSession, approvals: number): SessionInfo {
    const { cwd = project.root, firstPrompt, createdAt, updatedAt, lastOutcome, lastReason, unpriced, turns } = summary;
    const isOpening = served === undefined && this.host.has(id);
    const state = served?.session.state ?? stateOf(summary, { path, approvals, isOpening });
    const record = served === undefined ? readServedRecord(path, this.cache) : undefined;
    const waitingPrompts = (served?.session.queue() ?? readWaitingPrompts(path, this.waitingCache)).length;
    const isWorkerLost = state === "parked" && !this.projects.isAvailable(project);
    return {
      id,
      worker: project.name,
      cwd,
      state,
      detail: isWorkerLost ? workerLost(project) : served === undefined ? summary.damaged : undefined,
      notices: served?.notices.map((notice) => stripControls(clientText(notice))),
      maxCost: (served ?? record)?.choices.maxCost,
      costUsd: served === undefined ? record?.costUsd : served.session.costUsd,
      isCostAtMost: (served === undefined ? record?.isCostAtMost : served.session.isCostAtMost) || undefined,
      elsewhere: served === undefined && summary.inUse && !isOpening ? true : undefined,
      title: firstPrompt,
      model: summary.model ?? served?.session.model.model,
      permissionMode: served?.session.permissionMode,
      createdAt,
      updatedAt,
      outcome: lastOutcome,
      reason: lastReason,
      unpriced,
      turns,
      approvals,
      waitingPrompts: waitingPrompts === 0 ? undefined : waitingPrompts,
    };
  }

  private all(): readonly CatalogSession[] {
    const { cache, host } = this;
    return this.projects.all().flatMap((project) =>
      listSessions({ ...placeOf(project), cache }).map(
        (summary): CatalogSession => ({
          id: summary.id,
          project,
          path: summary.path,
          summary,
          served: host.get(summary.id),
        }),
      ),
    );
  }
}

interface CatalogOptions {
  readonly projects: Projects;
  readonly host: SessionHost;
}

/** Returns where a directory's sessions are stored. */
function placeOf({ home, root, isRemote }: Project): { readonly home: string; readonly cwd?: string } {
  return isRemote ? { home } : { home, cwd: root };
}

function unknownSession(id: SessionId): HttpProblem {
  return problem("unknown_session", `There is no session ${id} here. GET /session lists the sessions.`);
}

function stateOf(
  { inUse, lastOutcome, lastReason, damaged, model }: SessionSummary,
  { path, approvals, isOpening }: { readonly path: string; readonly approvals: number; readonly isOpening: boolean },
): SessionState {
  const isContinuing = isOpening && (lastReason === "parked" || lastReason === "process_lost");
  const isRunning = isContinuing || (lastOutcome === undefined && model !== undefined);
  if (inUse) return approvals > 0 ? "waiting" : isRunning ? "running" : "idle";
  const isUnfinished = lastReason === "parked" || (isRunning && damaged === undefined);
  return isUnfinished && readServedRecord(path)?.open === true ? "parked" : "ended";
}
