import { type ListedRequest, listSessions, type SessionSummary, waitingRequests } from "../../app/index.ts";
import { FileCache } from "../../lib/index.ts";
import type { SessionId, SessionInfo, SessionState, WaitingApproval } from "../../protocol/index.ts";
import { type HttpProblem, problem } from "../http/problem.ts";
import type { Project, Projects } from "./projects.ts";
import { readRecord } from "./served-record.ts";
import type { ServedSession, SessionHost, SessionPlace } from "./session-host.ts";

/** A session of a served directory. */
export interface CatalogSession extends SessionPlace {
  /** What its files say. Undefined if nothing has been written yet. */
  readonly summary?: SessionSummary | undefined;
  /** Set if the session is open in this process. */
  readonly served?: ServedSession | undefined;
}

/** Knows the sessions of the served directories: those that are open here, those that other processes have open, and others. */
export class SessionCatalog {
  private readonly projects: Projects;
  private readonly host: SessionHost;
  private readonly cache = new FileCache();

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
      .map((session) => infoOf(session, waiting.get(session.id) ?? 0))
      .sort((left, right) => right.updatedAt - left.updatedAt);
  }

  /** Finds a session by its complete id. Throws an `HttpProblem` if no served directory has it. */
  find(id: SessionId): CatalogSession {
    const found = this.all().find((session) => session.id === id);
    if (found === undefined) throw unknownSession(id);
    return found;
  }

  info(session: CatalogSession): SessionInfo {
    return infoOf(session, this.approvals(session.id).length);
  }

  /** Lists the requests for approval that wait for an answer, oldest first. */
  approvals(sessionId?: SessionId): readonly WaitingApproval[] {
    return this.requests(sessionId).map(({ question, askedAt }) => ({ question, askedAt }));
  }

  /** Lists the same requests with the inboxes that they wait in. */
  requests(sessionId?: SessionId): readonly ListedRequest[] {
    const { cache } = this;
    const search = sessionId === undefined ? { cache } : { cache, sessionId };
    return this.projects
      .all()
      .flatMap((project) => waitingRequests({ ...search, ...placeOf(project) }))
      .sort((left, right) => left.askedAt - right.askedAt);
  }

  /**
   * Lists the sessions that were open on a server, that no process has open now, and whose workers are connected; with
   * a name, only those of this worker.
   */
  leftOpen(worker?: string): readonly CatalogSession[] {
    return this.all().filter(({ summary, path, project }) => {
      if (worker !== undefined && project.name !== worker) return false;
      return summary?.inUse === false && this.projects.isAvailable(project) && readRecord(path)?.open === true;
    });
  }

  private all(): readonly CatalogSession[] {
    const { cache, host } = this;
    const written = this.projects.all().flatMap((project) =>
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
    const known = new Set(written.map(({ id }) => id));
    const fresh = host.all().flatMap((served): readonly CatalogSession[] => {
      const { id, transcriptPath: path = "" } = served.session;
      return known.has(id) ? [] : [{ id, project: served.project, path, served }];
    });
    return [...fresh, ...written];
  }
}

interface CatalogOptions {
  readonly projects: Projects;
  readonly host: SessionHost;
}

/** Returns where the sessions of a directory are stored. */
function placeOf({ home, root, isRemote }: Project): { readonly home: string; readonly cwd?: string } {
  return isRemote ? { home } : { home, cwd: root };
}

function unknownSession(id: SessionId): HttpProblem {
  return problem("unknown_session", `There is no session ${id} here. GET /session lists the sessions.`);
}

function infoOf({ id, project, path, summary, served }: CatalogSession, approvals: number): SessionInfo {
  const elsewhere = served === undefined && summary?.inUse === true ? true : undefined;
  const now = served?.openedAt ?? 0;
  return {
    id,
    worker: project.name,
    cwd: summary?.cwd ?? project.root,
    state: served?.session.state ?? stateOf(summary, { path, approvals }),
    detail: served === undefined ? summary?.damaged : undefined,
    elsewhere,
    title: summary?.firstPrompt,
    model: summary?.model ?? served?.session.model.model,
    createdAt: summary?.createdAt ?? now,
    updatedAt: summary?.updatedAt ?? now,
    outcome: summary?.lastOutcome,
    reason: summary?.lastReason,
    turns: summary?.turns ?? 0,
    approvals,
  };
}

function stateOf(
  summary: SessionSummary | undefined,
  { path, approvals }: { readonly path: string; readonly approvals: number },
): SessionState {
  if (summary === undefined) return "ended";
  const { inUse, lastOutcome, lastReason, damaged } = summary;
  if (inUse) return approvals > 0 ? "waiting" : lastOutcome === undefined ? "running" : "idle";
  const isUnfinished = lastReason === "parked" || (lastOutcome === undefined && damaged === undefined);
  return isUnfinished && readRecord(path)?.open === true ? "parked" : "ended";
}
