import { createDeferred } from "../../lib/index.ts";
import { type LoopState, next, type Operation } from "../../loop/index.ts";
import type { Prompt } from "../../ports/index.ts";
import type { AcceptanceResult, DurableEvent, RunResult, ToolCall } from "../../protocol/index.ts";
import { acceptWork } from "../acceptance/acceptance.ts";
import type { BudgetRefusal } from "../budget/budget.ts";
import { performCalls } from "../calls/perform-calls.ts";
import { type ContextLimits, contextLimits } from "../compaction/context-limits.ts";
import type { Thread } from "../thread/thread.ts";
import { askHooks } from "./ask-hooks.ts";
import { askModel } from "./ask-model.ts";
import { beginRun } from "./begin-run.ts";
import { type RunClocks, startClocks } from "./clocks.ts";
import { endBroken, endRun, endStopped, endUnlessTold } from "./end-run.ts";
import { waitForBackground } from "./notices.ts";
import { createRun, type Run, type RunOutlet } from "./run.ts";
import { isKeptGoing, tellOfEnd } from "./run-hooks.ts";
import type { LiveAgent, RunHost, RunRequest, RunServices } from "./run-host.ts";

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
  readonly startedAt: number;
  before: Prompt | undefined;
  acceptance: AcceptanceResult | undefined;
  spawnRefusal: BudgetRefusal | undefined;
  timeRefusal: BudgetRefusal | undefined;
  private pauses = 0;
  private isEnded = false;
  private endWork: () => void = () => {};
  /** When the conversation has to be made shorter; undefined: never. */
  private readonly context: ContextLimits | undefined;
  private isQueued = false;
  /** From here on its transcript can take words of others. */
  private readonly begun = createDeferred<void>();

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
      onWall: () => this.onWall(),
    });
  }

  async drive(): Promise<RunResult> {
    const result = await this.toItsEnd();
    await tellOfEnd(this, result);
    return result;
  }

  private async toItsEnd(): Promise<RunResult> {
    const { retinue } = this.services;
    retinue?.registry.enter(this.asLive());
    let leave = () => {};
    try {
      leave = await this.takePlace();
      this.beginWork();
      const refusal = await beginRun(this);
      this.begun.resolve();
      if (refusal !== undefined) return await endRun(this, { reason: "refused", message: refusal });
      return await this.loop();
    } catch (error) {
      return await endBroken(this, error);
    } finally {
      this.begun.resolve();
      this.isEnded = true;
      this.endWork();
      leave();
      this.clocks.end();
      retinue?.registry.leave(this.thread.agentId);
    }
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
      // Who was stopped while it waited for others' reservations was stopped, and not refused.
      if (this.outlet.signal.aborted) return endStopped(this);
      if (refusal) return this.endForBudget(refusal);
    }
  }

  /** Agents that work in the background finish what they were given, and their ends are recorded before the run's own. */
  private async endForBudget({ message }: BudgetRefusal): Promise<RunResult> {
    while (this.request.waits && this.thread.state.background.length > 0) {
      await waitForBackground(this);
      if (this.outlet.signal.aborted) return endStopped(this);
    }
    return endRun(this, { reason: "budget", message });
  }

  /** Undefined: there is more to do. */
  private async end({ kind: _, ...ending }: Extract<Operation, { kind: "end" }>): Promise<RunResult | undefined> {
    if (ending.reason === "done" && (await isKeptGoing(this))) return undefined;
    const { acceptance } = this.request;
    if (acceptance !== undefined && ending.reason === "done") {
      const isAccepted = await acceptWork(this, acceptance);
      if (this.outlet.signal.aborted) return endStopped(this);
      if (!isAccepted) return undefined;
    }
    if (this.request.verify === "auto" && ending.reason === "done") {
      const { verifyWork } = await import("../acceptance/verify-work.ts");
      const stands = await verifyWork(this);
      if (this.outlet.signal.aborted) return endStopped(this);
      if (!stands) return undefined;
    }
    return endUnlessTold(this, ending);
  }

  private async perform(operation: Operation): Promise<BudgetRefusal | undefined> {
    if (operation.kind === "request") return askModel(this, operation.turn);
    if (operation.kind === "act") await this.act(operation.calls);
    if (operation.kind === "wait") await waitForBackground(this);
    if (operation.kind === "compact") await this.compact(operation.cause);
    if (operation.kind === "tell") await this.record([{ type: "context.added", ...operation.telling }]);
    return undefined;
  }

  private async act(calls: readonly ToolCall[]): Promise<void> {
    await performCalls(this, calls);
    if (this.request.verify !== "suggest" || this.outlet.signal.aborted) return;
    const { suggestVerification } = await import("../acceptance/verify-work.ts");
    await suggestVerification(this);
  }

  private async compact(cause: "full" | "overflow"): Promise<void> {
    const { context } = this;
    if (context === undefined) return;
    const { compactConversation } = await import("../compaction/compaction.ts");
    await askHooks(this, { event: "PreCompact" }, { trigger: "auto" });
    const { retinue } = this.services;
    const roster = async () =>
      (await retinue?.registry.roster(this.thread.agentId, this.thread.state.background)) ?? "";
    await compactConversation(this, { limits: context, cause, roster });
  }

  /** A limit of waiting is none for whom nobody waits; where a person is there nobody need wait any longer. */
  private onWall(): boolean {
    const { retinue, limits } = this.services;
    const { agentId } = this.thread;
    const isBehind = limits.atWall !== undefined && retinue?.registry.isInBackground(agentId) === true;
    if (!isBehind && limits.atWall !== "background") {
      this.outlet.stop("timeout");
      return false;
    }
    // A journal that can't take that line ends the run by itself.
    if (!isBehind) void retinue?.registry.detach(agentId, "timeout").catch(() => undefined);
    return true;
  }

  /** Agents over a limit wait for their turn; the main agent does not. */
  private async takePlace(): Promise<() => void> {
    if (this.request.subagent === undefined) return () => {};
    const goOn = this.clocks.pause();
    this.isQueued = true;
    return this.services.budget.enter(this.outlet.signal).finally(() => {
      this.isQueued = false;
      goOn();
    });
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
      refuseSpawn: (refusal) => this.refuseSpawn(refusal),
      isQueued: () => this.isQueued,
      tell: (text) => this.tell(text),
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

  /** The budget's time counts while the run does something itself. */
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

  private async tell(text: string): Promise<boolean> {
    await this.begun.promise;
    const { runId } = this.request;
    const words: DurableEvent = { type: "prompt.received", content: [{ type: "text", text }], from: "agent" };
    return this.recordIf(({ run }) => run?.runId === runId, [words]);
  }
}
