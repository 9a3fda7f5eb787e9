import { readServedRecord, type Session, type SessionChoices, writeServedRecord } from "../../app/index.ts";
import { describeError } from "../../lib/index.ts";
import type { SessionClosed, SessionId } from "../../protocol/index.ts";
import { problem } from "../http/problem.ts";
import type { Limits } from "../server-options.ts";
import { type OpenedSession, type OpeningContext, openServed } from "./open-served.ts";
import type { Project, Projects } from "./projects.ts";

type ClosingReason = Exclude<SessionClosed["reason"], "ended">;

/** A session that this process has open. */
export interface ServedSession {
  readonly session: Session;
  /** Messages for the session's user. */
  readonly notices: readonly string[];
  readonly project: Project;
  choices: SessionChoices;
  readonly openedAt: number;
  /** Number of clients that are currently reading or steering the session. */
  users: number;
  /** Monotonic time at which the session last had something to do. */
  lastUsed: number;
  closedBy?: ClosingReason | undefined;
}

/** An existing session that can be opened. */
export interface SessionPlace {
  readonly id: SessionId;
  readonly project: Project;
  /** Path of the main agent's transcript. */
  readonly path: string;
}

interface Entry {
  readonly project: Project;
  readonly opening: Promise<ServedSession>;
  /** Cancels the opening of an existing session. */
  readonly giveUp?: AbortController | undefined;
  closing?: Promise<void> | undefined;
}

export interface HostOptions extends OpeningContext {
  readonly projects: Projects;
  readonly limits: Limits;
}

/** Opens sessions when they are needed, and closes them when they are not, so that a terminal can resume them. */
export class SessionHost {
  private readonly options: HostOptions;
  private readonly entries = new Map<SessionId, Entry>();
  private readonly served = new Map<SessionId, ServedSession>();
  private readonly sweeping: NodeJS.Timeout;
  isStopping = false;

  constructor(options: HostOptions) {
    this.options = options;
    this.sweeping = setInterval(() => this.closeIdle(), Math.min(1_000, options.limits.idleMs / 2));
    this.sweeping.unref();
  }

  /** Returns a session that is open here, even if it is about to be closed. */
  get(id: SessionId): ServedSession | undefined {
    return this.served.get(id);
  }

  /** Returns a session that is open here or is being opened. */
  async opened(id: SessionId): Promise<ServedSession | undefined> {
    return this.entries.get(id)?.opening.catch(() => undefined);
  }

  /** Returns whether a session is open here, is being opened or is being closed. */
  has(id: SessionId): boolean {
    return this.entries.has(id);
  }

  /** Starts a session, unless `check` throws. */
  async create(
    project: Project,
    choices: SessionChoices,
    check: (session: Session) => void = () => {},
  ): Promise<ServedSession> {
    this.refuseIfStopping();
    const worker = this.options.projects.connectedWorker(project);
    const opened = await openServed({ project, worker, choices }, this.options);
    const { session } = opened;
    try {
      check(session);
      await session.save();
    } catch (error) {
      await session.close();
      throw error;
    }
    const opening = this.keep(opened, { project, choices });
    this.entries.set(session.id, { project, opening });
    return opening;
  }

  /** Uses a session, which is opened first if necessary and stays open until `action` has settled. */
  async use<Result>(place: SessionPlace, action: (served: ServedSession) => Promise<Result>): Promise<Result> {
    for (;;) {
      this.refuseIfStopping();
      const entry = this.entries.get(place.id) ?? this.open(place);
      if (entry.closing === undefined) await entry.opening;
      if (entry.closing !== undefined) {
        await entry.closing;
        continue;
      }
      return this.hold(await entry.opening, action);
    }
  }

  /** Keeps a session open until `action` has settled. */
  async hold<Result>(served: ServedSession, action: (served: ServedSession) => Promise<Result>): Promise<Result> {
    served.users += 1;
    try {
      return await action(served);
    } finally {
      served.users -= 1;
      served.lastUsed = this.options.clock.monotonic();
    }
  }

  /** Stores the model that a client has chosen for an open session, so that the session keeps it when it is resumed. */
  async chooseModel(served: ServedSession, model: string): Promise<void> {
    served.choices = { ...served.choices, model };
    await this.record(served, { open: true });
  }

  /** Closes a session that is open here, and then deletes its files with `remove`. */
  async delete(id: SessionId, remove: () => void): Promise<void> {
    const entry = this.entries.get(id);
    const opening = entry?.opening.catch(() => undefined);
    if (entry !== undefined && opening !== undefined) this.options.projects.cancelRecalled(entry.project, id, opening);
    const served = await opening;
    if (entry !== undefined && served !== undefined) await this.close(entry, served, "deleted");
    remove();
  }

  /**
   * Changes a session's options. They apply when the session is opened again, so a session that is open here is closed.
   * Throws an `HttpProblem` if the session is working.
   */
  async change({ id, path }: SessionPlace, changes: Pick<SessionChoices, "maxCost">): Promise<void> {
    const entry = this.entries.get(id);
    const served = await entry?.opening;
    if (served !== undefined && served.session.state !== "idle")
      throw problem("conflict", "The session is working. Stop it, or wait until it has ended, then try again.");
    if (entry !== undefined && served !== undefined) await this.close(entry, served, "idle");
    const record = readServedRecord(path) ?? { v: 1, choices: {}, open: false };
    await writeServedRecord(path, { ...record, choices: { ...record.choices, ...changes } });
  }

  /** Parks the sessions of a worker that is no longer connected. Never rejects. */
  async loseWorker(name: string): Promise<void> {
    const lost = [...this.entries].filter(([, { project }]) => project.isRemote && project.name === name);
    await Promise.all(
      lost.map(async ([id, entry]) => {
        // An open session is parked immediately. A session that is being opened fails, because its worker is lost.
        const served = this.served.get(id) ?? (await entry.opening.catch(() => undefined));
        if (served !== undefined)
          await this.close(entry, served, "worker_lost").catch((error) => this.options.report(describeError(error)));
      }),
    );
  }

  /** Parks all sessions. When the server is restarted, agents continue where they stopped. Never rejects. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearInterval(this.sweeping);
    await Promise.all(
      [...this.entries.values()].map(async (entry) => {
        entry.giveUp?.abort();
        const served = await entry.opening.catch(() => undefined);
        if (served !== undefined)
          await this.close(entry, served, "server_stopped").catch((error) => this.options.report(describeError(error)));
      }),
    );
  }

  refuseIfStopping(): void {
    if (this.isStopping) throw problem("stopping", "The server is being stopped. Try again when it is back.");
  }

  private open({ id, project, path }: SessionPlace): Entry {
    const choices = readServedRecord(path)?.choices ?? {};
    const worker = this.options.projects.workerOf(project);
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const opening = openServed({ project, worker, choices, resume: id, signal }, this.options).then((opened) =>
      this.keep(opened, { project, choices }),
    );
    const entry: Entry = { project, opening, giveUp };
    this.entries.set(id, entry);
    opening.catch(() => this.entries.delete(id));
    return entry;
  }

  private async keep(
    { session, notices }: OpenedSession,
    { project, choices }: { readonly project: Project; readonly choices: SessionChoices },
  ): Promise<ServedSession> {
    const { clock } = this.options;
    const openedAt = clock.now();
    const served = { session, notices, project, choices, openedAt, users: 0, lastUsed: clock.monotonic() };
    await this.record(served, { open: true });
    this.served.set(session.id, served);
    return served;
  }

  /** Stores what a restarted server must know. The cost is stored only when the session is closed, and is final. */
  private async record(
    { session, choices }: ServedSession,
    { open, isClosed = false }: { readonly open: boolean; readonly isClosed?: boolean },
  ): Promise<void> {
    const { transcriptPath } = session;
    const costUsd = isClosed ? session.costUsd : undefined;
    const isCostAtMost = (isClosed && session.isCostAtMost) || undefined;
    if (transcriptPath !== undefined)
      await writeServedRecord(transcriptPath, { v: 1, choices, open, costUsd, isCostAtMost });
  }

  private closeIdle(): void {
    const now = this.options.clock.monotonic();
    for (const [id, served] of this.served) {
      const entry = this.entries.get(id);
      if (served.users > 0 || served.session.state !== "idle") served.lastUsed = now;
      if (entry === undefined || now - served.lastUsed < this.options.limits.idleMs) continue;
      void this.close(entry, served, "idle").catch((error) => this.options.report(describeError(error)));
    }
  }

  private close(entry: Entry, served: ServedSession, reason: ClosingReason): Promise<void> {
    entry.closing ??= this.closeNow(served, reason);
    return entry.closing;
  }

  private async closeNow(served: ServedSession, reason: ClosingReason): Promise<void> {
    const { session } = served;
    const { id } = session;
    served.closedBy = reason;
    try {
      if (reason === "deleted") await session.close();
      else await session.park(reason === "worker_lost" ? lostReason(served) : undefined);
      if (reason !== "deleted") await this.record(served, { open: reason !== "idle", isClosed: true });
    } finally {
      this.served.delete(id);
      this.entries.delete(id);
    }
  }
}

/** Returns why a session is parked; undefined if it was idle. */
function lostReason({ session, project: { name } }: ServedSession): string | undefined {
  if (session.state === "idle") return undefined;
  return `The worker ${name} is no longer connected. The session will continue when the worker returns.`;
}
