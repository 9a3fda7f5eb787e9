import { cacheDifference, SERIALIZER_VERSION } from "../conversation/index.ts";
import { createDeferred, describeError, errorCode } from "../lib/index.ts";
import { type LoopState, next, type Operation, recovery, unknownResults, userTurn } from "../loop/index.ts";
import type { ModelProgress, Prompt } from "../ports/index.ts";
import {
  costOf,
  type DurableEvent,
  type EndReason,
  type EventOf,
  noFacts,
  noUsage,
  outcomeOf,
  type RunResult,
} from "../protocol/index.ts";
import type { BudgetRefusal, Reservation } from "./budget.ts";
import { type RunClocks, startClocks } from "./clocks.ts";
import { type ContextLimits, contextLimits } from "./context-limits.ts";
import { estimateRequest } from "./estimate-request.ts";
import { performCalls } from "./perform-calls.ts";
import { createRun, type Run, type RunOutlet, type StopCause } from "./run.ts";
import type { LiveAgent, RunHost, RunRequest, RunServices } from "./run-host.ts";
import { noticeText } from "./task-text.ts";
import type { Thread } from "./thread.ts";

/** Starts or resumes an agent: the journal says which. The thread must have no run under way. */
export function startRun(services: RunServices, thread: Thread, request: RunRequest): Run {
  const produce = (outlet: RunOutlet): Promise<RunResult> => new Host(services, thread, { request, outlet }).drive();
  return createRun(request.runId, produce, request.subagent?.onUpdate);
}

class Host implements RunHost {
  readonly services: RunServices;
  readonly thread: Thread;
  readonly request: RunRequest;
  readonly outlet: RunOutlet;
  readonly clocks: RunClocks;
  /** When the conversation has to be made shorter; undefined: never. */
  private readonly context: ContextLimits | undefined;
  private readonly startedAt: number;
  /** From here on its transcript can take words of others. */
  private readonly begun = createDeferred<void>();
  /** The budget's word that there is nothing left to ask the model with. */
  private refusal: BudgetRefusal | undefined;
  /** The last request under another head, until the first one under this head shows what that cost. */
  private otherHead: Prompt | undefined;

  constructor(services: RunServices, thread: Thread, { request, outlet }: { request: RunRequest; outlet: RunOutlet }) {
    this.services = services;
    this.thread = thread;
    this.request = request;
    this.outlet = outlet;
    this.startedAt = services.clock.monotonic();
    const { head, contextTokens } = request.agent;
    const percent = services.compactAtPercent;
    this.context = contextLimits({ head, model: services.model.describe(), contextTokens, percent });
    this.clocks = startClocks({
      ...services.limits,
      clock: services.clock,
      onIdle: () => outlet.stop("stall"),
      onWall: () => outlet.stop("timeout"),
    });
  }

  async drive(): Promise<RunResult> {
    const { retinue } = this.services;
    retinue?.enter(this.asLive());
    let leave = () => {};
    let endWork = () => {};
    try {
      leave = await this.takePlace();
      endWork = this.services.budget.work();
      await this.begin();
      this.begun.resolve();
      for (;;) {
        const operation = next(this.thread.state, this.context);
        if (operation.kind === "end") {
          const result = await this.endUnlessTold(operation.reason, operation.message);
          if (result) return result;
          continue;
        }
        if (this.outlet.signal.aborted && operation.kind !== "act") return await this.endStopped();
        await this.perform(operation);
        if (this.refusal) return await this.end("budget", this.refusal.message);
        if (this.outlet.signal.aborted) return await this.endStopped();
      }
    } catch (error) {
      return await this.endBroken(error);
    } finally {
      this.begun.resolve();
      endWork();
      leave();
      this.clocks.end();
      retinue?.leave(this.thread.agentId);
    }
  }

  /** Agents over a limit wait for their turn; the main agent does not. */
  private async takePlace(): Promise<() => void> {
    if (this.request.subagent === undefined) return () => {};
    const goOn = this.clocks.pause();
    return this.services.budget.enter(this.outlet.signal).finally(goOn);
  }

  private asLive(): LiveAgent {
    const { request, thread, outlet, services } = this;
    return {
      agentId: thread.agentId,
      agent: request.agent,
      thread,
      services,
      runId: request.runId,
      emit: (update) => outlet.emit(update),
      record: (events) => this.record(events),
      tell: (text) => this.tell(text),
      yield: () => {
        const goOn = this.clocks.pause();
        const takeBack = services.budget.lend();
        return (signal) => takeBack(signal).finally(goOn);
      },
    };
  }

  async record(events: readonly DurableEvent[]): Promise<void> {
    for (const line of await this.thread.record(events)) this.outlet.emit(line);
  }

  private async begin(): Promise<void> {
    const { thread, request } = this;
    const { agent } = request;
    // An earlier run of this process may have lost its journal in the middle.
    const left = recovery(thread.state);
    if (left.length > 0) await this.record(left);
    const events: DurableEvent[] = [];
    if (thread.isNew) events.push(this.birth());
    const hash = await thread.keepHead(agent.head);
    if (hash !== thread.headHash) events.push({ type: "head.set", hash });
    events.push(this.runStarted(thread.isNew ? "fresh" : "resume"));
    for (const message of request.subagent?.notices ?? [])
      events.push({ type: "notice.raised", code: "agent", message });
    const early = thread.lastEnd !== undefined && thread.lastEnd !== "done";
    if (early) events.push({ type: "context.added", cause: "resumed", text: resumedText(thread.lastEnd) });
    const from = request.subagent ? "agent" : "person";
    if (request.prompt.length > 0) events.push({ type: "prompt.received", content: request.prompt, from });
    if (events.some((event) => event.type === "head.set")) this.otherHead = thread.newestPrompt;
    await this.record(events);
    // The request may leave while this is being synced; the first side effect waits for it.
    void thread.sync().catch(() => undefined);
  }

  private birth(): DurableEvent {
    const { sessionId, cwd, version } = this.services;
    const { subagent } = this.request;
    const made = { sessionId, cwd, version, serializer: SERIALIZER_VERSION };
    return subagent ? { type: "agent.created", ...made, ...subagent.birth } : { type: "session.created", ...made };
  }

  private runStarted(kind: "fresh" | "resume"): EventOf<"run.started"> {
    const { agent, runId, waits, subagent } = this.request;
    return {
      type: "run.started",
      runId,
      agentId: this.thread.agentId,
      agentType: agent.agentType,
      kind,
      requestedModel: agent.requestedModel,
      provider: agent.head.provider,
      model: agent.head.model,
      modelReason: agent.modelReason,
      permissionMode: agent.policy.mode,
      maxTurns: agent.maxTurns,
      ...(waits ? { waits } : {}),
      ...(subagent
        ? {
            tools: subagent.tools,
            policy: subagent.policy,
            ...(subagent.background ? { background: true } : {}),
          }
        : {}),
    };
  }

  private async reportLostCache(later: Prompt, turn: number): Promise<void> {
    const difference = this.otherHead && cacheDifference(this.otherHead, later);
    this.otherHead = undefined;
    if (difference) await this.record([{ type: "cache.missed", ...difference, turn }]);
  }

  private async perform(operation: Operation): Promise<void> {
    if (operation.kind === "request") return this.askModel(operation.turn);
    if (operation.kind === "act") return performCalls(this, operation.calls);
    if (operation.kind === "wait") return this.waitForOthers();
    if (operation.kind === "compact") return this.compact(operation.cause);
    if (operation.kind === "tell") return this.record([{ type: "context.added", ...operation.telling }]);
  }

  private async askModel(turn: number): Promise<void> {
    const reservation = await this.reserve();
    if (reservation === undefined) return;
    try {
      await this.callModel(turn, reservation);
    } finally {
      // Whatever went wrong, what was not spent is there for others again.
      reservation.cancel();
    }
  }

  private async callModel(turn: number, reservation: Reservation): Promise<void> {
    const { services, thread, outlet } = this;
    const warning = services.budget.warning();
    await this.record([
      ...(warning === undefined ? [] : budgetEvents(warning)),
      ...(await this.notices()),
      ...this.reminder(),
      { type: "model.requested", turn },
    ]);
    const prompt = thread.newestPrompt;
    if (prompt === undefined) throw new Error("a request without a conversation");
    await this.reportLostCache(prompt, turn);
    const startedAt = services.clock.monotonic();
    let retries: Promise<void> = Promise.resolve();
    let goOn: (() => void) | undefined;
    const emit = (progress: ModelProgress): void => {
      goOn?.();
      goOn = progress.type === "waiting" || progress.type === "retried" ? this.clocks.pause() : undefined;
      this.clocks.modelMoved();
      if (progress.type === "waiting" || progress.type === "sent") return;
      // The answer is on its way: until it is complete nothing else has to be done.
      services.hands.prepare?.();
      if (progress.type !== "retried") outlet.emit({ ...progress, turn });
      else retries = this.record([{ type: "model.retried", turn, retry: progress.retry }]);
    };
    const callId = (index: number): string => `${thread.agentId}_${turn}_${index}`;
    this.clocks.modelAsked();
    const outcome = await services.model.call({ prompt, callId, signal: outlet.signal }, emit);
    goOn?.();
    this.clocks.modelEnded();
    await retries;
    const milliseconds = Math.round(services.clock.monotonic() - startedAt);
    const { prices } = services.model.describe();
    const cost = prices && outcome.usage ? { costUsd: costOf(outcome.usage, prices) } : {};
    if (outcome.usage) reservation.settle({ usage: outcome.usage, ...cost });
    if (outcome.ok) {
      const { message, stopReason, incompleteCalls, usage } = outcome;
      await this.record([
        { type: "model.ended", turn, message, stopReason, incompleteCalls, usage, ...cost, milliseconds },
      ]);
    } else {
      const { error, partial, usage } = outcome;
      await this.record([
        { type: "model.failed", turn, error, partial, ...(usage ? { usage } : {}), ...cost, milliseconds },
      ]);
    }
  }

  /** What the request may take at most; undefined: there is not enough left, and the run ends. */
  private async reserve(): Promise<Reservation | undefined> {
    const { services, thread, request } = this;
    const { budget, model } = services;
    const added = budget.needsEstimate ? userTurn(thread.state) : undefined;
    const estimate = budget.needsEstimate
      ? estimateRequest({ head: request.agent.head, last: thread.newestPrompt, added }, model.describe())
      : { tokens: 0 };
    const goOn = this.clocks.pause();
    const reserved = await budget.reserveInTurn(estimate, this.outlet.signal);
    goOn();
    if (!reserved.refused) return reserved;
    this.refusal = reserved;
    return undefined;
  }

  private async compact(cause: "full" | "overflow"): Promise<void> {
    const { context } = this;
    if (context === undefined) return;
    const { compactConversation } = await import("./compaction.ts");
    const { retinue } = this.services;
    const roster = async () => (await retinue?.roster(this.thread.agentId, this.thread.state.background)) ?? "";
    await compactConversation(this, { limits: context, cause, roster });
  }

  private async waitForOthers(): Promise<void> {
    const { retinue } = this.services;
    const { background } = this.thread.state;
    const goOn = this.clocks.pause();
    await retinue?.oneEnded(background, this.outlet.signal);
    goOn();
    if (!this.outlet.signal.aborted) await this.record(await this.notices());
  }

  /** What ended in the background since the last request. */
  private async notices(): Promise<DurableEvent[]> {
    const { background } = this.thread.state;
    if (background.length === 0) return [];
    const ended = (await this.services.retinue?.ended(background)) ?? [];
    if (ended.length === 0) return [];
    const notices = ended.map(({ agentId, end: { runId, outcome } }) => ({ agentId, runId, outcome }));
    return [{ type: "notices.delivered", notices, text: noticeText(ended) }];
  }

  /** In brackets, as all the runtime says. Written with the request that seals it into a user turn. An answer that only paused goes on without a new turn. */
  private reminder(): DurableEvent[] {
    const { criticalReminder } = this.request.agent;
    const { calls, said } = this.thread.state;
    if (criticalReminder === undefined || calls.length + said.length === 0) return [];
    return [{ type: "context.added", cause: "reminder", text: `[${criticalReminder}]` }];
  }

  private endStopped(): Promise<RunResult> {
    const cause = this.outlet.cause();
    return this.end(cause, stoppedText(cause));
  }

  private async tell(text: string): Promise<boolean> {
    await this.begun.promise;
    const { runId } = this.request;
    const event: DurableEvent = { type: "prompt.received", content: [{ type: "text", text }], from: "agent" };
    const lines = await this.thread.recordIf(({ run }) => run?.runId === runId, [event]);
    for (const line of lines ?? []) this.outlet.emit(line);
    return lines !== undefined;
  }

  /** Undefined: somebody said something in the last moment. */
  private async endUnlessTold(reason: EndReason, message?: string): Promise<RunResult | undefined> {
    const event = this.runEnded(reason, message);
    const lines = await this.thread.recordIf(({ said }) => reason !== "done" || said.length === 0, [event]);
    if (lines === undefined) return undefined;
    for (const line of lines) this.outlet.emit(line);
    await this.thread.sync();
    return this.resultOf(event);
  }

  private async end(reason: EndReason, message?: string): Promise<RunResult> {
    const event = this.runEnded(reason, message);
    await this.record([event]);
    await this.thread.sync();
    return this.resultOf(event);
  }

  private runEnded(reason: EndReason, message?: string): EventOf<"run.ended"> {
    const { run }: LoopState = this.thread.state;
    return {
      type: "run.ended",
      runId: this.request.runId,
      outcome: outcomeOf(reason),
      reason,
      ...(message === undefined ? {} : { message }),
      text: run?.text ?? "",
      turns: run?.turns ?? 0,
      usage: run?.usage ?? noUsage,
      ...(run?.costUsd === undefined ? {} : { costUsd: run.costUsd }),
      milliseconds: Math.round(this.services.clock.monotonic() - this.startedAt),
      modelMilliseconds: run?.modelMilliseconds ?? 0,
      facts: run?.facts ?? noFacts,
    };
  }

  private resultOf({ type: _, ...ended }: EventOf<"run.ended">): RunResult {
    const { head } = this.request.agent;
    return { ...ended, sessionId: this.services.sessionId, agentId: this.thread.agentId, model: head.model };
  }

  /** A bug or a journal that can't be written. The world is told even if the disk can't be. */
  private async endBroken(error: unknown): Promise<RunResult> {
    const reason = errorCode(error) === undefined ? "internal_error" : "journal_error";
    const message = describeError(error);
    try {
      const unknown = unknownResults(this.thread.state);
      if (unknown.length > 0) await this.record(unknown);
      const event = this.runEnded(reason, message);
      await this.record([event]);
      return this.resultOf(event);
    } catch {
      const event = this.runEnded(reason, message);
      this.outlet.emit({ v: 1, id: "unrecorded", parentId: null, at: this.services.clock.now(), ...event });
      return this.resultOf(event);
    }
  }
}

function budgetEvents(warning: string): DurableEvent[] {
  return [
    { type: "notice.raised", code: "budget", message: warning },
    { type: "context.added", cause: "budget", text: `[${warning} Come to an end.]` },
  ];
}

function resumedText(reason: EndReason | undefined): string {
  if (reason === "interrupted" || reason === "stopped") return "[The person interrupted your previous run.]";
  return `[Your previous run ended early: ${reason}.]`;
}

function stoppedText(cause: StopCause): string {
  if (cause === "stall") return "The model said nothing for too long. Resume to go on.";
  if (cause === "stopped") return "The run was stopped. What it did stays; it can be resumed.";
  if (cause === "timeout") return "The run reached its time limit. Resume the session to go on.";
  return "The run was interrupted. Resume the session to go on.";
}
