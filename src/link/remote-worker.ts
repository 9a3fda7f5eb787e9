import { UserError } from "../lib/index.ts";
import type {
  Clock,
  WorkerChange,
  WorkerFacts,
  WorkerPort,
  WorkerSession,
  WorkerSessionOptions,
} from "../ports/index.ts";
import type { SessionId, ToolCall, WorkerInfo } from "../protocol/index.ts";
import type { Recalled } from "./call-ledger.ts";
import { CallSlots } from "./call-slots.ts";
import { answerProblem, recalledFacts } from "./check-answer.ts";
import type { Connection, Handlers } from "./connection.ts";
import { Link } from "./link.ts";
import {
  CALLS_AT_ONCE,
  type ClosedSession,
  closeCodes,
  type ForgetRequest,
  type Hello,
  type OpenedSession,
  type OpenRequest,
  type PortMethod,
  type ProgressNotice,
  portMethods,
  type ReportNotice,
  type SavePart,
  type SessionRef,
} from "./protocol.ts";
import { RemoteSession, type WorkerLoss, WorkerLost } from "./remote-session.ts";
import { UNKNOWN_SESSION } from "./result-transfer.ts";

/** A worker that is connected through a link. */
export interface RemoteWorker extends WorkerPort {
  readonly name: string;
  readonly state: WorkerInfo["state"];
  /** Identifies the worker's process. Changes when the worker is restarted. */
  readonly instance: string;
  /**
   * Deletes the files of a deleted session. Rejects if the worker is lost, in which case the worker itself deletes the
   * files later.
   */
  forget(sessionId: SessionId): Promise<void>;
  /**
   * Cancels the calls of earlier servers that a session is waiting for. Also cancels calls that the session begins to
   * wait for before the promise settles, for example while the session is being opened.
   */
  cancelRecalled(sessionId: SessionId, until: Promise<unknown>): void;
}

export interface WorkerRecordOptions {
  readonly graceMs: number;
  readonly clock: Clock;
  readonly onChange: (worker: RemoteWorker, change: WorkerChange) => void;
}

/** A server's record of one worker: its connection, and the sessions that are open on it. */
export class WorkerRecord implements Handlers {
  readonly worker: RemoteWorker;
  private readonly options: WorkerRecordOptions;
  private hello: Hello;
  private connection: Connection | undefined;
  private state: WorkerInfo["state"] = "lost";
  private link = new Link(answerProblem);
  private grace: NodeJS.Timeout | undefined;
  private readonly slots = new CallSlots(CALLS_AT_ONCE);
  private readonly sessions = new Map<SessionId, RemoteSession>();
  /** Newest lease of each session that the worker may still have open. */
  private readonly leases = new Map<SessionId, number>();
  /**
   * For each session that is waiting for the results of calls that an earlier server started: the controller that
   * cancels these calls.
   */
  private readonly recalling = new Map<SessionId, AbortController>();
  /** Sessions that were closed while the worker was not connected. */
  private readonly closed = new Map<SessionId, ClosedSession>();

  constructor(hello: Hello, options: WorkerRecordOptions) {
    this.hello = hello;
    this.options = options;
    this.worker = this.createPort();
  }

  /** Returns whether a greeting comes from this worker, rather than from another one with the same name. */
  isSame({ ledger, facts }: Hello): boolean {
    return ledger === this.hello.ledger && facts.root === this.hello.facts.root;
  }

  get isGone(): boolean {
    return this.state === "lost";
  }

  /** Root of the workspace, for messages. */
  get root(): string {
    return this.hello.facts.root;
  }

  /**
   * Uses a new connection. Returns the sessions that were closed while the worker was not connected, or undefined if
   * the worker has a newer connection.
   */
  attach(hello: Hello, connection: Connection): readonly ClosedSession[] | undefined {
    const isSameProcess = hello.instance === this.hello.instance;
    if (this.connection && isSameProcess && hello.connection < this.hello.connection) return undefined;
    const isFirst = this.hello === hello;
    const before = this.connection;
    this.connection = connection;
    before?.close(isSameProcess ? closeCodes.replaced : closeCodes.superseded);
    if (!isSameProcess && this.state !== "lost") this.lose({ isRestarted: true });
    const isReturning = this.state === "lost" && !isFirst;
    clearTimeout(this.grace);
    this.hello = hello;
    for (const { sessionId, lease } of hello.sessions)
      this.leases.set(sessionId, Math.max(lease, this.leases.get(sessionId) ?? 0));
    if (isReturning) this.link = new Link(answerProblem);
    this.state = "connected";
    this.link.use(connection);
    void connection.closed.then((code) => this.onDisconnected(connection, code));
    const closed = [...this.closed.values()];
    this.closed.clear();
    this.tell(isReturning ? "returned" : "connected");
    return closed;
  }

  /** Ends all requests, because the server is stopping. */
  end(): void {
    clearTimeout(this.grace);
    const connection = this.connection;
    this.connection = undefined;
    this.state = "lost";
    this.link.end(new WorkerLost(this.hello.name, {}));
    connection?.close(closeCodes.leaving);
  }

  async request(method: string, parameters: unknown): Promise<unknown> {
    if (method === "results/save") return this.sessionOf(parameters as SavePart).save(parameters as SavePart);
    throw new Error(`Unknown request ${method}.`);
  }

  notification(method: string, parameters: unknown): void {
    const { sessionId } = parameters as SessionRef;
    const session = this.sessions.get(sessionId);
    if (method === "progress") {
      const { id, text } = parameters as ProgressNotice;
      session?.onProgress(id, text);
    }
    if (method === "report") session?.onReport((parameters as ReportNotice).message);
  }

  private createPort(): RemoteWorker {
    const record = this;
    const ask = (method: PortMethod) => (argument: never) => record.link.request(`port/${method}`, { argument });
    const plain = Object.fromEntries(portMethods.map((method) => [method, ask(method)]));
    return {
      get name() {
        return record.hello.name;
      },
      get state() {
        return record.state;
      },
      get instance() {
        return record.hello.instance;
      },
      describe: (): WorkerFacts => record.hello.facts,
      forget: (sessionId) => record.link.request("session/forget", { sessionId } satisfies ForgetRequest),
      cancelRecalled: (sessionId, until) => {
        record.recallingOf(sessionId).abort();
        const forget = (): void => void record.recalling.delete(sessionId);
        void until.then(forget, forget);
      },
      open: (options) => record.open(options),
      ...(plain as unknown as Pick<WorkerPort, PortMethod>),
    };
  }

  private async open(options: WorkerSessionOptions): Promise<WorkerSession> {
    const { link } = this;
    const { results: _, report: _report, ...sent } = options;
    const { sessionId } = options;
    const lease = Math.max(this.options.clock.now(), (this.leases.get(sessionId) ?? 0) + 1);
    const ref: SessionRef = { sessionId, lease };
    this.leases.set(sessionId, lease);
    const request: OpenRequest = { ...ref, options: sent };
    const opened = await link.request<OpenedSession>("session/open", request);
    const session = new RemoteSession({
      ref,
      opened,
      options,
      link,
      slots: this.slots,
      recall: (call) => this.recall(sessionId, call),
      onClosed: (untold) => this.forget(session, untold),
    });
    this.sessions.set(sessionId, session);
    return session.port();
  }

  private forget(session: RemoteSession, untold: ClosedSession | undefined): void {
    const { ref } = session;
    const isNewest = this.leases.get(ref.sessionId) === ref.lease;
    if (this.sessions.get(ref.sessionId) === session) {
      this.sessions.delete(ref.sessionId);
      this.recalling.delete(ref.sessionId);
    }
    if (isNewest && untold === undefined) this.leases.delete(ref.sessionId);
    if (isNewest && untold !== undefined) this.closed.set(ref.sessionId, untold);
  }

  private async recall(sessionId: SessionId, call: ToolCall): Promise<Recalled> {
    const { signal } = this.recallingOf(sessionId);
    try {
      return recalledFacts(await this.link.request<Recalled>("recall", { sessionId, call }, signal));
    } catch (error) {
      if (error instanceof WorkerLost) throw error;
      return "lost";
    }
  }

  private recallingOf(sessionId: SessionId): AbortController {
    const known = this.recalling.get(sessionId) ?? new AbortController();
    this.recalling.set(sessionId, known);
    return known;
  }

  private sessionOf({ sessionId, lease }: SessionRef): RemoteSession {
    const session = this.sessions.get(sessionId);
    if (session?.ref.lease === lease) return session;
    throw new UserError(`Session ${sessionId} is not open on this server`, { code: UNKNOWN_SESSION });
  }

  private onDisconnected(connection: Connection, code: number): void {
    if (this.connection !== connection) return;
    this.connection = undefined;
    this.link.use(undefined);
    if (code === closeCodes.leaving) {
      // A worker that was stopped does not return as the same process.
      this.lose({ isStopped: true });
      return;
    }
    this.state = "reconnecting";
    this.grace = setTimeout(() => this.lose({}), this.options.graceMs);
    this.tell("reconnecting");
  }

  private lose(reason: WorkerLoss): void {
    const { link } = this;
    this.state = "lost";
    // Sessions are parked before their requests fail, so that calls that have not begun stay open.
    this.tell("lost");
    this.sessions.clear();
    link.end(new WorkerLost(this.hello.name, reason));
  }

  private tell(change: WorkerChange): void {
    this.options.onChange(this.worker, change);
  }
}
