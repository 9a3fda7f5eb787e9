import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../lib/index.ts";
import type { WorkerPort } from "../ports/index.ts";
import type { SessionId } from "../protocol/index.ts";
import { type Recalled, recallFromFile } from "./call-ledger.ts";
import type { Handlers } from "./connection.ts";
import { HostedSession } from "./hosted-session.ts";
import type { Link } from "./link.ts";
import {
  type CallRequest,
  type ClosedSession,
  type ExecutorRequest,
  environmentMethods,
  executorMethods,
  type ForgetRequest,
  type HeldSession,
  type OnceRequest,
  type OpenedSession,
  type OpenRequest,
  type PortMethod,
  portMethods,
  type RecallRequest,
  type SessionRequest,
  sessionMethods,
} from "./protocol.ts";
import type { SessionFiles } from "./session-files.ts";

export interface WorkerHostOptions {
  readonly worker: WorkerPort;
  readonly link: Link;
  /** Directory with one file per session, in which its calls are recorded. */
  readonly ledgerDirectory: string;
  /** If absent, sessions' files are in temporary directories. */
  readonly files?: SessionFiles | undefined;
}

/** Files of sessions that the server neither opened again nor deleted are kept for 30 days. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** Serves a worker to the server at the other end of a link: routes requests to the worker and its sessions. */
export class WorkerHost implements Handlers {
  private readonly options: WorkerHostOptions;
  private readonly sessions = new Map<SessionId, HostedSession>();

  constructor(options: WorkerHostOptions) {
    this.options = options;
    mkdirSync(options.ledgerDirectory, { recursive: true, mode: 0o700 });
  }

  /** Sessions that are open here, for the greeting to a server. */
  get held(): readonly HeldSession[] {
    return [...this.sessions.values()].map(({ ref, calls }) => ({ ...ref, calls: calls.open }));
  }

  /** Ends the processes of sessions that an earlier process of this worker left open when it was killed. */
  async sweep(): Promise<void> {
    const { ledgerDirectory, worker } = this.options;
    const names = readdirSync(ledgerDirectory).filter((name) => name.endsWith(LEDGER));
    for (const name of names) await worker.sweep(name.slice(0, -LEDGER.length));
  }

  /** Deletes the files of sessions that have not been used for a long time. Never throws. */
  removeOld(): void {
    const { ledgerDirectory, files } = this.options;
    const oldest = Date.now() - KEPT_MS;
    try {
      const ledgers = readdirSync(ledgerDirectory).filter((name) => name.endsWith(LEDGER));
      const unused = ledgers
        .filter((name) => statSync(join(ledgerDirectory, name)).mtimeMs < oldest)
        .map((name) => name.slice(0, -LEDGER.length));
      for (const sessionId of new Set([...unused, ...(files?.unusedSince(oldest) ?? [])])) this.forget(sessionId);
    } catch {
      // The files do no harm, and are checked again later.
    }
  }

  async request(method: string, parameters: unknown, signal: AbortSignal): Promise<unknown> {
    const [group, name = ""] = method.split("/");
    switch (group) {
      case "port":
        return this.askPort(member(portMethods, name), (parameters as { argument: unknown }).argument);
      case "session": {
        if (name === "open") return this.open(parameters as OpenRequest);
        if (name === "close") return this.close(parameters as ClosedSession);
        if (name === "forget") return this.forget((parameters as ForgetRequest).sessionId);
        const session = await this.sessionOf(parameters as OnceRequest);
        return session.perform(member(sessionMethods, name), parameters as OnceRequest, signal);
      }
      case "environment": {
        const session = await this.sessionOf(parameters as SessionRequest);
        const { argument } = parameters as { readonly argument: string };
        return session.askEnvironment(member(environmentMethods, name), argument);
      }
      case "executor": {
        const session = await this.sessionOf(parameters as SessionRequest);
        return session.askExecutor(member(executorMethods, name), parameters as ExecutorRequest);
      }
      case "execute":
        return (await this.sessionOf(parameters as SessionRequest)).execute(parameters as CallRequest, signal);
      case "recall":
        return this.recall(parameters as RecallRequest, signal);
      default:
        throw new Error(`Unknown request ${method}.`);
    }
  }

  notification(): void {}

  /** Closes sessions that the server closed while there was no connection. */
  closeAll(refs: readonly ClosedSession[]): void {
    for (const ref of refs) void this.close(ref).catch(() => undefined);
  }

  /** Ends everything that is running. Results that the server has not received are kept for the next process. */
  async stop(): Promise<void> {
    const sessions = [...this.sessions];
    await Promise.allSettled(sessions.map(([, session]) => session.close({ keepsLedger: true })));
  }

  /** Kills the processes of all sessions that are open. */
  async kill(): Promise<void> {
    const { worker } = this.options;
    await Promise.allSettled([...this.sessions.keys()].map((sessionId) => worker.sweep(sessionId)));
  }

  private async askPort(method: PortMethod, argument: unknown): Promise<unknown> {
    if (method === "sweep") {
      checkSessionId(argument as SessionId);
      // An open session's processes were started by this process, not left behind by an earlier one.
      if (this.sessions.has(argument as SessionId)) return undefined;
    }
    const worker = this.options.worker as unknown as Record<PortMethod, (argument: unknown) => Promise<unknown>>;
    return worker[method](argument);
  }

  private async open(request: OpenRequest): Promise<OpenedSession> {
    const { sessionId, lease } = request;
    const { worker, link, files } = this.options;
    const ledger = this.ledgerOf(sessionId);
    const named = { ...request.options, sessionId };
    const options = { ...named, directory: files?.open(named) };
    const held = this.sessions.get(sessionId);
    if (held?.ending !== undefined) await this.end(sessionId, held, { keepsLedger: false });
    let session = this.sessions.get(sessionId);
    if (session === undefined) {
      session = new HostedSession({ worker, link, ledger }, { ...request, options });
      this.sessions.set(sessionId, session);
    } else {
      if (lease < session.ref.lease) throw replaced(sessionId);
      if (lease > session.ref.lease) session.take({ ...request, options });
    }
    try {
      return await session.opened;
    } catch (error) {
      await this.end(sessionId, session, { keepsLedger: true });
      throw error;
    }
  }

  private async close({ sessionId, lease, keepsCalls }: ClosedSession): Promise<void> {
    const session = this.sessions.get(sessionId);
    if (session === undefined) {
      if (!keepsCalls) rmSync(this.ledgerOf(sessionId), { force: true });
      return;
    }
    if (lease < session.ref.lease) throw replaced(sessionId);
    if (keepsCalls && session.hasEarlierCalls) return;
    await this.end(sessionId, session, { keepsLedger: keepsCalls === true });
  }

  /** Deletes a session's files, unless the session is open. */
  private forget(sessionId: SessionId): void {
    if (this.sessions.has(sessionId)) return;
    rmSync(this.ledgerOf(sessionId), { force: true });
    this.options.files?.remove(sessionId);
  }

  private async end(sessionId: SessionId, session: HostedSession, options: { keepsLedger: boolean }): Promise<void> {
    await session.close(options);
    if (this.sessions.get(sessionId) === session) this.sessions.delete(sessionId);
  }

  private recall({ sessionId, call: { callId } }: RecallRequest, signal: AbortSignal): Promise<Recalled> {
    const session = this.sessions.get(sessionId);
    if (session) return session.calls.recall(callId, signal);
    return recallFromFile(this.ledgerOf(sessionId), callId);
  }

  /** Returns the session that a request is about, and forgets the results that the request acknowledges. */
  private async sessionOf({ sessionId, lease, acknowledged = [] }: SessionRequest): Promise<HostedSession> {
    const session = this.sessions.get(sessionId);
    const isOpen = session !== undefined && session.ending === undefined && session.ref.lease >= lease;
    if (!isOpen) throw notOpen(sessionId);
    if (session.ref.lease > lease) throw replaced(sessionId);
    session.acknowledge(acknowledged);
    return session;
  }

  private ledgerOf(sessionId: SessionId): string {
    checkSessionId(sessionId);
    return join(this.options.ledgerDirectory, `${sessionId}${LEDGER}`);
  }
}

/** Session ids become parts of paths and mark processes. */
function checkSessionId(sessionId: SessionId): void {
  if (!/^[\w-]{1,64}$/.test(sessionId)) throw new Error(`"${sessionId}" is not a valid session id.`);
}

/** Extension of ledger files. */
const LEDGER = ".jsonl";

function member<Name extends string>(names: readonly Name[], name: string): Name {
  const found = names.find((each) => each === name);
  if (found === undefined) throw new Error(`Unknown request ${name}.`);
  return found;
}

function replaced(sessionId: SessionId): UserError {
  const fix = "Continue the session there, or open it here again.";
  return new UserError(`Another server has opened session ${sessionId}`, { code: "lease_replaced", fix });
}

function notOpen(sessionId: SessionId): UserError {
  return new UserError(`The worker does not have session ${sessionId} open`, {
    code: "session_not_open",
    fix: "Resume the session.",
  });
}
