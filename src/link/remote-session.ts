import { describeError, UserError } from "../lib/index.ts";
import {
  type ClosingOptions,
  type ExecuteRequest,
  type GitState,
  type HookRun,
  type Judgment,
  type McpOffer,
  type OpenedWorktree,
  type RestoredFile,
  type ToolExecutor,
  type ToolSpec,
  unknownTraits,
  type WorkerSession,
  type WorkerSessionOptions,
} from "../ports/index.ts";
import {
  type AgentId,
  canonicalToolName,
  type KeptWorktree,
  type ToolCall,
  type ToolResult,
  textResult,
} from "../protocol/index.ts";
import type { Recalled } from "./call-ledger.ts";
import type { CallSlots } from "./call-slots.ts";
import { ownFacts, ownTraits } from "./check-answer.ts";
import { plainText } from "./connection.ts";
import type { Link } from "./link.ts";
import type {
  ClosedSession,
  ExecutorMethod,
  ExecutorRef,
  OpenedSession,
  SavePart,
  SessionMethod,
  SessionRef,
  SessionRequest,
} from "./protocol.ts";
import { ResultTransfers } from "./result-transfer.ts";

/** Describes how a worker was lost. If no property is set, the worker did not reconnect in time. */
export interface WorkerLoss {
  /** Whether the worker was restarted, so that the new process can report the outcome of a call. */
  readonly isRestarted?: boolean | undefined;
  /** Whether the worker announced that it was stopping. */
  readonly isStopped?: boolean | undefined;
}

/** The error for requests to a worker that is lost. */
export class WorkerLost extends UserError {
  readonly isRestarted: boolean;

  constructor(name: string, { isRestarted = false, isStopped }: WorkerLoss) {
    super(`The worker "${name}" ${isStopped ? "was stopped" : "is no longer connected"}`, {
      code: "worker_lost",
      fix: "The session can continue when the worker has returned. Check that `retinue worker` is running there.",
    });
    this.isRestarted = isRestarted;
  }
}

export interface RemoteSessionParts {
  readonly ref: SessionRef;
  readonly opened: OpenedSession;
  readonly options: WorkerSessionOptions;
  readonly link: Link;
  readonly slots: CallSlots;
  /**
   * Asks the worker's current process for the outcome of a call. Rejects with a `WorkerLost` if the worker can't be
   * reached.
   */
  recall(call: ToolCall): Promise<Recalled>;
  /**
   * Called when the session is closed. `untold`: the closed session, if the worker must be told about it when it
   * returns.
   */
  onClosed(untold?: ClosedSession): void;
}

/** The server's end of a session on a worker. */
export class RemoteSession {
  private readonly parts: RemoteSessionParts;
  readonly ref: SessionRef;
  private readonly transfers: ResultTransfers;
  private readonly progress = new Map<string, (text: string) => void>();
  /** Ids of requests whose results were used, to be sent with the next request. */
  private acknowledged: string[] = [];
  /** Ids of finished calls whose results may not be recorded yet, keyed by agent. */
  private readonly ended = new Map<AgentId, string[]>();
  private readonly running = new Map<AgentId, number>();
  private count = 0;

  constructor(parts: RemoteSessionParts) {
    this.parts = parts;
    this.ref = parts.ref;
    this.transfers = new ResultTransfers(parts.options.results);
  }

  /** Returns the session as a `WorkerSession`. */
  port(): WorkerSession {
    const { opened } = this.parts;
    const offers = new Map<string, readonly ToolSpec[]>();
    const ask = <Result>(method: SessionMethod, argument: unknown, signal?: AbortSignal) =>
      this.askOnce<Result>(method, argument, signal);
    return {
      readableRoots: opened.readableRoots,
      environment: {
        platform: opened.platform,
        commands: () => this.request<string>("environment/commands", {}).catch(() => "it is not known how they run."),
        git: (directory) =>
          this.request<GitState | undefined>("environment/git", { argument: directory }).catch(() => ({})),
      },
      executor: (root) => this.executor({ id: this.newId(), root }, opened.tools),
      runHook: (hook, signal) =>
        ask<HookRun>("runHook", hook, signal).catch((error) => ({ ended: false, failure: describeError(error) })),
      connectServers: async (request, signal) => {
        try {
          const offer = await ask<McpOffer>("connectServers", request, signal);
          offers.set(offer.connectionId, offer.tools);
          return offer;
        } catch (error) {
          const servers = request.uses.map(({ name }) => ({ name, status: "failed" as const }));
          return { connectionId: "", servers, tools: [], instructions: [], problems: [describeError(error)] };
        }
      },
      serverExecutor: (connectionId) =>
        this.executor({ id: this.newId(), connectionId }, offers.get(connectionId) ?? []),
      releaseServers: async (connectionId) => {
        offers.delete(connectionId);
        await ask("releaseServers", connectionId).catch(() => undefined);
      },
      openWorktree: (request) =>
        ask<OpenedWorktree>("openWorktree", request).catch((error) => ({ ok: false, message: describeError(error) })),
      leaveWorktree: (agentId) => ask<KeptWorktree | undefined>("leaveWorktree", agentId).catch(() => undefined),
      keepRule: (rule) => ask<string>("keepRule", rule).catch(describeError),
      restoreFile: (request) =>
        ask<RestoredFile>("restoreFile", request).catch((error) => ({ ok: false, message: describeError(error) })),
      close: (closing) => this.close(closing),
    };
  }

  onProgress(id: string, text: string): void {
    this.progress.get(id)?.(plainText(text));
  }

  onReport(message: string): void {
    this.parts.options.report(plainText(message));
  }

  save(part: SavePart): Promise<unknown> {
    return this.transfers.save(part);
  }

  private executor(ref: ExecutorRef, tools: readonly ToolSpec[]): ToolExecutor {
    const declarations = tools.map(({ declaration }) => declaration);
    const traits = new Map(tools.map((tool) => [tool.declaration.name, ownTraits(tool)]));
    const ask = <Result>(method: ExecutorMethod, ...given: readonly unknown[]) =>
      this.request<Result>(`executor/${method}`, { executor: ref, arguments: given });
    return {
      declarations: () => declarations,
      traits: (toolName) => traits.get(canonicalToolName(toolName)) ?? unknownTraits,
      // If the worker is lost, the session is normally parked before the request fails, and the call stays open. If it
      // is not parked, the model gets the error message as the result of the call.
      judge: (...judged) =>
        ask<Judgment>("judge", ...judged).catch((error) => ({ kind: "invalid", message: describeError(error) })),
      execute: (request, emit, signal) => this.execute(ref, { request, emit, signal }),
      recall: (call) => this.parts.recall(call),
      inherit: (agentId, from) => void ask("inherit", agentId, from).catch(() => undefined),
      release: async (agentId) => {
        this.acknowledgeCalls(agentId);
        await ask("release", agentId).catch(() => undefined);
      },
      close: async () => void (await ask("close").catch(() => undefined)),
    };
  }

  private async execute(executor: ExecutorRef, { request, emit, signal }: Execution): Promise<ToolResult> {
    const { slots } = this.parts;
    const { agentId, call } = request;
    if (!(await slots.take(signal))) return textResult("cancelled", "The call was cancelled before it began.");
    const id = this.newId();
    const others = this.running.get(agentId) ?? 0;
    // Results of calls that ran at the same time may not be recorded yet.
    if (others === 0) this.acknowledgeCalls(agentId);
    this.running.set(agentId, others + 1);
    this.progress.set(id, emit);
    try {
      return ownFacts(await this.request<ToolResult>("execute", { id, executor, request }, signal));
    } catch (error) {
      return await this.explain(error, call);
    } finally {
      slots.leave();
      this.progress.delete(id);
      const left = (this.running.get(agentId) ?? 1) - 1;
      if (left > 0) this.running.set(agentId, left);
      else this.running.delete(agentId);
      const ended = this.ended.get(agentId);
      if (ended) ended.push(id);
      else this.ended.set(agentId, [id]);
    }
  }

  /** Returns the result of a call whose request failed. */
  private async explain(error: unknown, call: ToolCall): Promise<ToolResult> {
    if (!(error instanceof UserError)) return textResult("error", `${call.name} failed: ${describeError(error)}`);
    const isRestarted = error instanceof WorkerLost && error.isRestarted;
    const recalled = isRestarted ? await this.parts.recall(call).catch(() => "lost" as const) : "lost";
    if (typeof recalled === "object") return recalled;
    if (recalled === "never begun")
      return textResult("cancelled", "The worker was restarted before this call began. The call had no effect.");
    return textResult(
      "unknown",
      `Outcome unknown: the call was sent to the worker and its result did not arrive. ${describeError(error)} The call may or may not have taken effect. Check before you repeat it.`,
    );
  }

  private acknowledgeCalls(agentId: AgentId): void {
    this.acknowledged.push(...(this.ended.get(agentId) ?? []));
    this.ended.delete(agentId);
  }

  private async askOnce<Result>(method: SessionMethod, argument: unknown, signal?: AbortSignal): Promise<Result> {
    const id = this.newId();
    try {
      return await this.request<Result>(`session/${method}`, { id, argument }, signal);
    } finally {
      this.acknowledged.push(id);
    }
  }

  private async close({ keepsCalls }: ClosingOptions = {}): Promise<void> {
    try {
      // The worker forgets all of the session's results.
      await this.request("session/close", { keepsCalls });
      this.parts.onClosed();
    } catch {
      this.parts.onClosed({ ...this.ref, keepsCalls });
    }
  }

  private request<Result>(method: string, parameters: object, signal?: AbortSignal): Promise<Result> {
    const envelope: SessionRequest = { ...this.ref, acknowledged: this.acknowledged.splice(0) };
    return this.parts.link.request<Result>(method, { ...envelope, ...parameters }, signal);
  }

  private newId(): string {
    this.count += 1;
    return `${this.ref.lease}.${this.count}`;
  }
}

interface Execution {
  readonly request: ExecuteRequest;
  readonly emit: (progress: string) => void;
  readonly signal: AbortSignal;
}
