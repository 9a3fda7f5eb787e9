import type { ResolvedAgent } from "../../agents/index.ts";
import { createDeferred } from "../../lib/index.ts";
import { type LoopState, next, type Operation } from "../../loop/index.ts";
import type { Prompt } from "../../ports/index.ts";
import {
  type AcceptanceResult,
  type DurableEvent,
  type RunRef,
  type RunResult,
  type RunUpdate,
  runtimeText,
  type ToolCall,
} from "../../protocol/index.ts";
import { acceptWork } from "../acceptance/acceptance.ts";
import { checkOutput } from "../acceptance/check-output.ts";
import { suggestVerification, verifyWork } from "../acceptance/verify-work.ts";
import type { BudgetRefusal } from "../budget/budget.ts";
import { endingOf } from "../budget/budget-text.ts";
import { performCalls } from "../calls/perform-calls.ts";
import { type CompactionRequest, compactConversation } from "../compaction/compaction.ts";
import { type ContextLimits, contextLimits } from "../compaction/context-limits.ts";
import { withKeptHead, withoutDenied } from "../head/kept-head.ts";
import type { Thread } from "../thread/thread.ts";
import { askHooks } from "./ask-hooks.ts";
import { askModel } from "./ask-model.ts";
import { beginRun } from "./begin-run.ts";
import { type RunClocks, startClocks } from "./clocks.ts";
import { endAfterError, endRun, endStopped, endUnlessPrompted } from "./end-run.ts";
import { startMentioned } from "./mentions.ts";
import { waitForBackground } from "./notices.ts";
import { createRun, type Run, type RunOutlet } from "./run.ts";
import { isContinuedByHook, runEndHooks } from "./run-hooks.ts";
import type { LiveAgent, Message, RunHost, RunRequest, RunServices } from "./run-host.ts";

/** Starts a new agent, or resumes one that has lines in its journal. The thread must have no active run. */
export function startRun(services: RunServices, thread: Thread, request: RunRequest): Run {
  const { feed } = services;
  const produce = (outlet: RunOutlet): Promise<RunResult> => {
    const emit = (update: RunUpdate): void => {
      if (!("id" in update) && update.type !== "subagent.event") feed?.live(thread.agentId, update);
      outlet.emit(update);
    };
    return new Host(services, thread, { request, outlet: { ...outlet, emit } }).drive();
  };
  return createRun(request.runId, produce, request.subagent?.onUpdate);
}

class Host implements RunHost {
  readonly services: RunServices;
  readonly thread: Thread;
  request: RunRequest;
  fresh: ResolvedAgent;
  readonly outlet: RunOutlet;
  readonly clocks: RunClocks;
  readonly startedAt: number;
  before: Prompt | undefined;
  acceptance: AcceptanceResult | undefined;
  spawnRefusal: BudgetRefusal | undefined;
  timeRefusal: BudgetRefusal | undefined;
  isRejected?: true;
  private pauses = 0;
  private isEnded = false;
  private endWork: () => void = () => {};
  /** Limits at which the conversation is compacted. If undefined, it is never compacted. */
  private context: ContextLimits | undefined;
  private isQueued = false;
  /** Resolved when the transcript is ready for messages from other agents. */
  private readonly begun = createDeferred<void>();
  private interruption = createDeferred<void>();

  constructor(services: RunServices, thread: Thread, { request, outlet }: { request: RunRequest; outlet: RunOutlet }) {
    this.services = services;
    this.thread = thread;
    this.request = request;
    this.fresh = request.agent;
    this.outlet = outlet;
    this.startedAt = services.clock.monotonic();
    this.clocks = startClocks({
      ...services.limits,
      clock: services.clock,
      onIdle: () => outlet.stop("stall"),
      onWall: () => this.onWall(),
    });
  }

  async drive(): Promise<RunResult> {
    const result = await this.runToEnd();
    await runEndHooks(this, result);
    return result;
  }

  private async runToEnd(): Promise<RunResult> {
    const { retinue } = this.services;
    retinue?.registry.enter(this.asLive());
    let leave = () => {};
    try {
      leave = await this.takeSlot();
      this.beginWork();
      await this.request.onEnter?.();
      await this.continueAwaited();
      const refusal = await beginRun(this);
      this.begun.resolve();
      if (refusal !== undefined) {
        this.isRejected = true;
        return await endRun(this, { reason: "refused", message: refusal });
      }
      return await (this.request.compaction === undefined ? this.loop() : this.compactOnly(this.request.compaction));
    } catch (error) {
      return await endAfterError(this, error);
    } finally {
      this.begun.resolve();
      this.isEnded = true;
      this.endWork();
      leave();
      this.clocks.end();
      retinue?.registry.leave(this.thread.agentId);
    }
  }

  async refresh(): Promise<readonly string[]> {
    const { approvals } = this.services;
    // A new conversation has nothing that could be out of date.
    if (!this.thread.isNew) await approvals.refresh?.();
    const { agent = this.fresh, notices = [] } = (await this.request.refresh?.()) ?? {};
    this.fresh = this.thread.isNew ? agent : withoutDenied(agent, approvals.policyFor(agent.policy).rules);
    this.use(withKeptHead(this.fresh, this.thread));
    return notices;
  }

  renewHead(): void {
    this.use(this.fresh);
  }

  private use(agent: ResolvedAgent): void {
    this.request = { ...this.request, agent };
    const { model, compactAtPercent: percent } = this.services;
    const { head, contextTokens } = agent;
    this.context = contextLimits({ head, model: model.describe(), contextTokens, percent });
  }

  record(events: readonly DurableEvent[]): Promise<void> {
    return this.thread.record(events).then((lines) => lines.forEach(this.outlet.emit));
  }

  async recordIf(allows: (state: LoopState) => boolean, events: readonly DurableEvent[]): Promise<boolean> {
    const lines = await this.thread.recordIf(allows, events);
    for (const line of lines ?? []) this.outlet.emit(line);
    return lines !== undefined;
  }

  private async loop(): Promise<RunResult> {
    for (;;) {
      const operation = next(this.thread.state, this.context);
      if (operation.kind === "end") {
        const result = await this.end(operation);
        if (result) return result;
        continue;
      }
      if (this.outlet.signal.aborted && operation.kind !== "act") return endStopped(this);
      const refusal = await this.perform(operation);
      // A run that is stopped while it waits for other reservations ends as stopped, not as refused.
      if (this.outlet.signal.aborted) return endStopped(this);
      if (refusal) return this.endForBudget(refusal);
    }
  }

  /**
   * Ends a run whose budget does not allow it to continue. Waits for its background agents first, so that their ends
   * are recorded before its own.
   */
  private async endForBudget(refusal: BudgetRefusal): Promise<RunResult> {
    while (this.request.waits && this.thread.state.background.length > 0) {
      await waitForBackground(this);
      if (this.outlet.signal.aborted) return endStopped(this);
    }
    return endRun(this, endingOf(refusal));
  }

  /** Ends the run. Returns undefined if there is more to do. */
  private async end({ kind: _, ...ending }: Extract<Operation, { kind: "end" }>): Promise<RunResult | undefined> {
    if (ending.reason === "done" && (await isContinuedByHook(this))) return undefined;
    const { acceptance, output } = this.request;
    if (output !== undefined && ending.reason === "done") {
      const checked = await checkOutput(this, output);
      if (this.outlet.signal.aborted) return endStopped(this);
      if (checked.kind === "again") return undefined;
      if (checked.kind === "invalid") return endRun(this, checked.ending);
    }
    if (acceptance !== undefined && ending.reason === "done") {
      const isAccepted = await acceptWork(this, acceptance);
      if (this.outlet.signal.aborted) return endStopped(this);
      if (!isAccepted) return undefined;
    }
    if (this.request.verify === "auto" && ending.reason === "done") {
      const stands = await verifyWork(this);
      if (this.outlet.signal.aborted) return endStopped(this);
      if (!stands) return undefined;
    }
    return endUnlessPrompted(this, ending);
  }

  private async perform(operation: Exclude<Operation, { kind: "end" }>): Promise<BudgetRefusal | undefined> {
    switch (operation.kind) {
      case "request":
        return askModel(this, operation.turn);
      case "act":
        await this.act(operation.calls);
        return undefined;
      case "wait":
        await waitForBackground(this);
        return undefined;
      case "compact":
        await this.compact(operation.cause);
        return undefined;
      case "notify":
        await this.record([
          { type: "context.added", cause: operation.message.cause, text: runtimeText(operation.message.text) },
        ]);
        return undefined;
      case "rest":
        throw new Error("The run has no next step, but has not ended.");
    }
  }

  private async act(calls: readonly ToolCall[]): Promise<void> {
    await performCalls(this, calls);
    if (this.request.verify !== "suggest" || this.outlet.signal.aborted) return;
    await suggestVerification(this);
  }

  private async compactOnly({ instructions }: Pick<CompactionRequest, "instructions">): Promise<RunResult> {
    await this.compact("asked", instructions);
    return this.outlet.signal.aborted ? endStopped(this) : endRun(this, { reason: "done" });
  }

  private async compact(cause: CompactionRequest["cause"], instructions?: string): Promise<void> {
    const { context } = this;
    if (context === undefined) return;
    await askHooks(this, { event: "PreCompact" }, { trigger: cause === "asked" ? "manual" : "auto" });
    const { retinue } = this.services;
    const roster = async () =>
      (await retinue?.registry.roster(this.thread.agentId, this.thread.state.background)) ?? "";
    await compactConversation(this, { limits: context, cause, instructions, roster });
  }

  /**
   * Called when the limit on active time is reached. Returns true if the run continues, because it is in the background
   * or can be moved there.
   */
  private onWall(): boolean {
    const { retinue, limits } = this.services;
    const { agentId } = this.thread;
    const isInBackground = limits.atWall !== undefined && retinue?.registry.isInBackground(agentId) === true;
    if (!isInBackground && limits.atWall !== "background") {
      this.outlet.stop("timeout");
      return false;
    }
    // If the journal fails here, the failure ends the run anyway.
    if (!isInBackground) void retinue?.registry.detach(agentId, "timeout").catch(() => undefined);
    return true;
  }

  /** Waits for a slot if the number of concurrent subagents is limited. The main agent needs no slot. */
  private async takeSlot(): Promise<() => void> {
    if (this.request.subagent === undefined) return () => {};
    const resume = this.clocks.pause();
    this.isQueued = true;
    return this.services.budget.enter(this.outlet.signal).finally(() => {
      this.isQueued = false;
      resume();
    });
  }

  private asLive(): LiveAgent {
    const { request, thread, outlet, services } = this;
    const current = (): ResolvedAgent => this.request.agent;
    return {
      agentId: thread.agentId,
      get agent() {
        return current();
      },
      thread,
      services,
      runId: request.runId,
      begun: this.begun.promise,
      emit: (update) => outlet.emit(update),
      record: (events) => this.record(events),
      beforeCall: (facts) => {
        const about = `PreToolUse hook on ${facts.tool_name}`;
        return askHooks(this, { event: "PreToolUse", callId: facts.tool_use_id, about }, facts);
      },
      refuseSpawn: (refusal) => this.refuseSpawn(refusal),
      isQueued: () => this.isQueued,
      tell: (message, about) => this.tell(message, about),
      endWait: (run) => this.endWait(run),
      yield: () => this.yield(),
    };
  }

  yield(): (signal: AbortSignal) => Promise<void> {
    const resume = this.pause();
    const takeBack = this.services.budget.lend();
    return (signal) => takeBack(signal).finally(resume);
  }

  pause(): () => void {
    const resumeClocks = this.clocks.pause();
    this.pauses += 1;
    this.endWork();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      resumeClocks();
      this.pauses -= 1;
      this.beginWork();
    };
  }

  /** Starts counting the budget's time, unless the run is paused or has ended. */
  private beginWork(): void {
    if (this.pauses > 0 || this.isEnded) return;
    this.endWork();
    this.endWork = this.services.budget.work((refusal) => {
      this.timeRefusal = refusal;
      this.outlet.stop("budget");
    });
  }

  private async refuseSpawn(refusal: BudgetRefusal): Promise<void> {
    const isFirst = this.spawnRefusal === undefined;
    this.spawnRefusal = refusal;
    if (isFirst) await this.record([{ type: "notice.raised", code: "budget", message: refusal.message }]);
  }

  private async tell(message: Message, about?: string): Promise<boolean> {
    await this.begun.promise;
    const { runId } = this.request;
    const events: DurableEvent[] =
      about === undefined ? [] : [{ type: "context.added", cause: "agents", text: runtimeText(about) }];
    events.push({ type: "prompt.received", ...message });
    const isTold = await this.interrupt(({ run }) => run?.runId === runId, events);
    if (isTold && message.from === "person") await startMentioned(this, message.content);
    return isTold;
  }

  endWait({ agentId, runId }: RunRef): Promise<boolean> {
    return this.interrupt(({ awaited }) => awaited.includes(runId), [{ type: "wait.ended", agentId, runId }]);
  }

  /** Records events that end a wait, if `allows` returns true for the current state. */
  private async interrupt(allows: (state: LoopState) => boolean, events: readonly DurableEvent[]): Promise<boolean> {
    const isRecorded = await this.recordIf(allows, events);
    this.interruption.resolve();
    this.interruption = createDeferred();
    return isRecorded;
  }

  nextInterruption(): Promise<void> {
    return this.interruption.promise;
  }

  private async continueAwaited(): Promise<void> {
    const problems = (await this.services.retinue?.continueAwaited(this.thread.state)) ?? [];
    const notices = problems.map((message): DurableEvent => ({ type: "notice.raised", code: "agent", message }));
    if (notices.length > 0) await this.record(notices);
  }
}
