import type { McpOffer, OpenedWorktree, ToolExecutor, WorkerPort, WorkerSession } from "../ports/index.ts";
import type { AgentId, ToolResult } from "../protocol/index.ts";
import { CallLedger } from "./call-ledger.ts";
import type { Link } from "./link.ts";
import type {
  CallRequest,
  ExecutorMethod,
  ExecutorRef,
  ExecutorRequest,
  OnceRequest,
  OpenedSession,
  OpenRequest,
  ProgressNotice,
  ReportNotice,
  SessionMethod,
  SessionRef,
} from "./protocol.ts";
import { createRemoteResults } from "./result-transfer.ts";
import { SharedWork } from "./shared-work.ts";

type SessionOptions = OpenRequest["options"];

/** State of a session during the time that one server has it open. */
interface Tenure {
  readonly lease: number;
  readonly executors: Map<string, { readonly ref: ExecutorRef; readonly executor: ToolExecutor }>;
  /** Requests that must be performed only once, each kept until the server has its result. */
  readonly once: Map<string, SharedWork<unknown>>;
  readonly calls: Set<Promise<ToolResult>>;
  /** Connections to MCP servers. */
  readonly connections: Set<string>;
  readonly worktrees: Map<AgentId, string>;
}

export interface SessionHost {
  readonly worker: WorkerPort;
  readonly link: Link;
  /** Path of the session's ledger. */
  readonly ledger: string;
}

/**
 * A session on a worker. It stays open when the connection to the server is lost, and when another server opens it: its
 * calls continue, and the new server asks for their results.
 */
export class HostedSession {
  readonly calls: CallLedger;
  private readonly sessionId: string;
  private readonly host: SessionHost;
  private options: SessionOptions;
  private local: Promise<WorkerSession>;
  private tenure: Tenure;
  /** States that belong to earlier servers whose calls are still running. */
  private readonly former = new Set<Tenure>();
  private closing: Promise<void> | undefined;
  /** The answer to the request with which the current server opened the session. */
  opened: Promise<OpenedSession>;

  constructor(host: SessionHost, { sessionId, lease, options }: OpenRequest) {
    this.sessionId = sessionId;
    this.host = host;
    this.options = options;
    this.calls = new CallLedger(host.ledger);
    this.tenure = newTenure(lease);
    this.local = this.openLocal();
    this.opened = this.describe();
  }

  get ref(): SessionRef {
    return { sessionId: this.sessionId, lease: this.tenure.lease };
  }

  /** Whether calls that an earlier server started are still running. */
  get hasEarlierCalls(): boolean {
    return [...this.former].some(({ calls }) => calls.size > 0);
  }

  /** Settles when the session is closed; undefined unless it is being closed. */
  get ending(): Promise<void> | undefined {
    return this.closing;
  }

  /**
   * Gives the session to a server with a newer lease. Running calls continue, unless the session has new options.
   */
  take({ lease, options }: OpenRequest): void {
    const left = this.tenure;
    this.tenure = newTenure(lease);
    this.calls.reopen();
    const isSame = describeOptions(this.options) === describeOptions(options);
    const before = this.local;
    this.former.add(left);
    if (isSame) {
      void Promise.allSettled(left.calls).then(() => this.leave(left, before));
    } else {
      this.options = options;
      this.local = Promise.all([...this.former].map((each) => this.leave(each, before)))
        .then(async () => (await before).close())
        .catch(() => undefined)
        .then(() => this.openLocal());
    }
    this.opened = this.describe();
  }

  acknowledge(ids: readonly string[]): void {
    for (const id of ids) this.tenure.once.delete(id);
    this.calls.acknowledge(ids);
  }

  /** Calls a method once, no matter how often it is requested with the same id. */
  async perform(method: SessionMethod, { id, argument }: OnceRequest, signal: AbortSignal): Promise<unknown> {
    const { tenure } = this;
    const known = tenure.once.get(id) ?? new SharedWork((own) => this.callMethod(method, { argument, tenure }, own));
    tenure.once.set(id, known);
    return known.join(signal);
  }

  async execute({ id, executor, request }: CallRequest, signal: AbortSignal): Promise<ToolResult> {
    const { tenure } = this;
    const { callId } = request.call;
    const hands = await this.executorFor(executor);
    const emit = (text: string): void => {
      const notice: ProgressNotice = { ...this.ref, id, text };
      this.host.link.notify("progress", notice);
    };
    const result = this.calls.perform({ id, callId }, (own) => hands.execute(request, emit, own), signal);
    tenure.calls.add(result);
    return result.finally(() => tenure.calls.delete(result));
  }

  async askExecutor(method: ExecutorMethod, request: ExecutorRequest): Promise<unknown> {
    const executor = await this.executorFor(request.executor);
    const call = executor[method] as ((...given: readonly unknown[]) => unknown) | undefined;
    return call?.(...request.arguments);
  }

  async askEnvironment(method: "commands" | "git", argument: string): Promise<unknown> {
    return (await this.local).environment[method](argument);
  }

  /** Ends everything that is running for the session. The ledger is kept if the server may still ask for results. */
  close({ keepsLedger }: { readonly keepsLedger: boolean }): Promise<void> {
    this.closing ??= (async () => {
      if (keepsLedger) this.calls.interrupt();
      const local = await this.local.catch(() => undefined);
      const tenures = [this.tenure, ...this.former];
      await Promise.all(tenures.map((each) => this.leave(each, this.local)));
      await local?.close().catch(() => undefined);
      await Promise.allSettled(tenures.flatMap(({ calls }) => [...calls]));
      await (keepsLedger ? this.calls.close() : this.calls.remove());
    })();
    return this.closing;
  }

  private async openLocal(): Promise<WorkerSession> {
    const { worker, link } = this.host;
    const report = (message: string): void => {
      const notice: ReportNotice = { ...this.ref, message };
      link.notify("report", notice);
    };
    return worker.open({ ...this.options, results: createRemoteResults({ link, ref: () => this.ref }), report });
  }

  private async describe(): Promise<OpenedSession> {
    const local = await this.local;
    const executor = local.executor(this.host.worker.describe().root);
    const tools = executor.declarations().map((declaration) => ({
      declaration,
      traits: executor.traits(declaration.name),
    }));
    await executor.close();
    return { readableRoots: local.readableRoots, platform: local.environment.platform, tools };
  }

  private async executorFor(ref: ExecutorRef): Promise<ToolExecutor> {
    const local = await this.local;
    const { executors } = this.tenure;
    const known = executors.get(ref.id);
    if (known) return known.executor;
    const executor = "root" in ref ? local.executor(ref.root) : local.serverExecutor(ref.connectionId);
    executors.set(ref.id, { ref, executor });
    return executor;
  }

  private async callMethod(
    method: SessionMethod,
    { argument, tenure }: { readonly argument: unknown; readonly tenure: Tenure },
    signal: AbortSignal,
  ): Promise<unknown> {
    const local = await this.local;
    const call = local[method] as (argument: unknown, signal: AbortSignal) => Promise<unknown>;
    const result = await call(argument, signal);
    if (method === "connectServers") tenure.connections.add((result as McpOffer).connectionId);
    if (method === "openWorktree") noteWorktree(tenure, argument as { agentId: AgentId }, result as OpenedWorktree);
    // Forget the executors that can no longer be used.
    if (method === "releaseServers") {
      tenure.connections.delete(argument as string);
      forgetExecutors(tenure, (ref) => "connectionId" in ref && ref.connectionId === argument);
    }
    if (method === "leaveWorktree") {
      const root = tenure.worktrees.get(argument as AgentId);
      tenure.worktrees.delete(argument as AgentId);
      forgetExecutors(tenure, (ref) => "root" in ref && ref.root === root);
    }
    return result;
  }

  /** Cleans up after a server: closes its executors, their shells and its connections to MCP servers. */
  private async leave(tenure: Tenure, session: Promise<WorkerSession>): Promise<void> {
    const { executors, connections } = tenure;
    this.former.delete(tenure);
    const local = await session.catch(() => undefined);
    await Promise.allSettled([...executors.values()].map(({ executor }) => executor.close()));
    await Promise.allSettled([...connections].map((id) => local?.releaseServers(id)));
  }
}

function newTenure(lease: number): Tenure {
  return {
    lease,
    executors: new Map(),
    once: new Map(),
    calls: new Set(),
    connections: new Set(),
    worktrees: new Map(),
  };
}

function noteWorktree({ worktrees }: Tenure, { agentId }: { readonly agentId: AgentId }, opened: OpenedWorktree): void {
  if (opened.ok) worktrees.set(agentId, opened.root);
}

function forgetExecutors({ executors }: Tenure, isGone: (ref: ExecutorRef) => boolean): void {
  for (const [id, { ref }] of executors) if (isGone(ref)) executors.delete(id);
}

/** Serializes options for comparison. Leaves out the start time, because an open session keeps its own start time. */
function describeOptions({ since: _, ...options }: SessionOptions): string {
  return JSON.stringify(options);
}
