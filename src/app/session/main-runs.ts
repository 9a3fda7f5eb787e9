import type { ResolvedAgent } from "../../agents/index.ts";
import { createDeferred, createId, type Deferred, newRunId, UserError } from "../../lib/index.ts";
import type { LoopState, QueuedPrompt } from "../../loop/index.ts";
import type { Model } from "../../ports/index.ts";
import {
  MAIN_AGENT,
  noFacts,
  noUsage,
  type PermissionMode,
  type PromptId,
  type RunId,
  type RunResult,
  type SessionId,
  type UserBlock,
} from "../../protocol/index.ts";
import {
  createRun,
  type Dispatcher,
  type LiveAgent,
  planEvents,
  type RefreshedAgent,
  type Run,
  type RunOutlet,
  type RunRequest,
  type RunServices,
  type StopCause,
  startRun,
  type Thread,
  withKeptHead,
} from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import type { AgentCallback } from "../agents/agent-options.ts";
import { planChange } from "../opening/session-permissions.ts";
import { textBlocks } from "./prompt-content.ts";
import { withCallback } from "./with-callback.ts";

/** The main agent and its model, which the user can change between two runs. */
export interface MainAgentChoice {
  readonly agent: ResolvedAgent;
  readonly model: Model;
}

export interface MainRunsOptions {
  readonly agent: ResolvedAgent;
  readonly thread: Thread;
  readonly services: RunServices;
  readonly dispatcher: Pick<Dispatcher, "isPlanning" | "afterPlan" | "policyOf" | "prompted" | "setMode">;
  readonly transcript: Pick<Transcript, "path">;
  /** Returns the main agent if it has a run in progress. */
  readonly live: () => LiveAgent | undefined;
  /** Options for every run. */
  readonly runOptions: Pick<RunRequest, "acceptance" | "verify"> & { readonly waits: boolean };
  /** Mode requested when the session was opened. */
  readonly requestedMode?: PermissionMode | undefined;
  /** Called when a run begins. Returns the agent with the head that a new session would have. Never rejects. */
  readonly refresh: (agent: ResolvedAgent) => Promise<RefreshedAgent>;
  /** Called when the first run of this process begins. Never rejects. */
  readonly onFirstRun: () => Promise<void>;
  readonly callback?: AgentCallback | undefined;
}

type PromptParts = Pick<RunRequest, "promptId" | "output">;

/** A queued prompt from this process. */
interface WaitingPrompt extends QueuedPrompt {
  /** Content of the prompt. It is replaced when the user edits the prompt. */
  content: QueuedPrompt["content"];
  /** Resolves when the prompt is the first one in the queue and may run, or has been removed from the queue. */
  readonly turn: Deferred<void>;
  /** Settles when the prompt is in the transcript. */
  readonly recorded: Promise<void>;
  /** Whether the prompt was removed from this list but is still in the transcript's queue. */
  isHeld: boolean;
}

/** The runs of a session's main agent, one at a time. A prompt that arrives during a run waits for its turn. */
export class MainRuns {
  agent: ResolvedAgent;
  private usedModel: Model;
  /** Agent and model to use from the next run on. */
  private change: MainAgentChoice | undefined;
  /** Mode in which this process's first run begins. If undefined, the agent's own mode is used. */
  private requestedMode: PermissionMode | undefined;
  private readonly options: MainRunsOptions;
  private current: Run | undefined;
  private isStarted = false;
  private closedBy: StopCause | undefined;
  private readonly waiting: WaitingPrompt[] = [];
  /** Work in progress that prevents runs from starting. */
  private held: Promise<unknown> | undefined;

  constructor(options: MainRunsOptions) {
    this.options = options;
    this.agent = options.agent;
    this.usedModel = options.services.model;
    this.requestedMode = options.requestedMode;
  }

  /** The model of the next run. */
  get model(): Model {
    return this.change?.model ?? this.usedModel;
  }

  /** The main agent's permission mode. If a mode was requested, this process's first run begins in it. */
  get mode(): PermissionMode {
    const { thread, dispatcher } = this.options;
    const requested = this.isStarted && !thread.isNew ? undefined : this.requestedMode;
    return requested ?? dispatcher.policyOf(MAIN_AGENT, this.agent.policy).mode;
  }

  /** Changes the permission mode at once, even during a run. */
  async changeMode(mode: PermissionMode): Promise<void> {
    const { thread, dispatcher, live } = this.options;
    await live()?.begun;
    // The first line of a transcript describes the session, so a session without lines begins in the new mode.
    this.requestedMode = mode;
    const plans = mode === "plan";
    const { isPlanning, afterPlan } = dispatcher;
    const change =
      plans === isPlanning ? [] : planEvents(plans ? { kind: "enter", afterPlan } : { kind: "leave" }, this.keptAgent);
    const record = live()?.record ?? ((events) => thread.record(events));
    // While plan mode is on, the new mode has no effect yet. No other mode may apply when it ends.
    if (isPlanning && !plans) dispatcher.setMode(mode);
    if (!thread.isEmpty) await record([...change, { type: "mode.changed", mode }]);
    if (!isPlanning && !plans) dispatcher.setMode(mode);
  }

  /** Uses another agent or model starting with the next run. */
  use(change: MainAgentChoice): void {
    this.change = change;
  }

  /** Whether a run has been started in this process. */
  get hasStarted(): boolean {
    return this.isStarted;
  }

  /** The run in progress. */
  get running(): Run | undefined {
    return this.current;
  }

  /** The queued prompts, including those that are not in the transcript yet. */
  get queue(): readonly QueuedPrompt[] {
    const { queue } = this.options.thread.state;
    const unrecorded = this.waiting.filter(({ promptId }) => !queue.some((each) => each.promptId === promptId));
    return [...queue, ...unrecorded.map(({ promptId, content }) => ({ promptId, content }))];
  }

  /** Whether a new prompt would have to wait. */
  get isBusy(): boolean {
    return this.current !== undefined || this.held !== undefined || this.waiting.length > 0;
  }

  /** Whether work in progress prevents runs from starting. */
  get isHeld(): boolean {
    return this.held !== undefined;
  }

  /** Prevents runs from starting until the work is done. Prompts that arrive in the meantime are queued. */
  async hold<Result>(work: () => Promise<Result>): Promise<Result> {
    const held = work();
    this.held = held;
    try {
      return await held;
    } finally {
      this.held = undefined;
      this.startNext();
    }
  }

  /** Starts a run, or queues the prompt if the main agent is busy. */
  prompt(content: readonly UserBlock[], { promptId, output }: PromptParts = {}): Run {
    if (this.closedBy !== undefined) throw closedSession(this.options.services.sessionId, this.options.transcript);
    this.noteWork();
    if (!this.isBusy) return this.start({ content, promptId, output });
    const prompt = { promptId: promptId ?? createId("prompt_"), content };
    return this.enqueue(prompt, { recorded: this.recordQueued(prompt), output });
  }

  /**
   * Like `prompt`, but for callers that do not need the run. Resolves when the prompt is in the transcript and can no
   * longer be lost. Returns whether the run has started or the prompt is queued.
   */
  async accept(content: readonly UserBlock[], promptId?: PromptId): Promise<"started" | "queued"> {
    void drain(this.prompt(content, { promptId }));
    const waiting = this.waiting.find((each) => each.promptId === promptId);
    await (waiting?.recorded ?? this.options.live()?.begun);
    return waiting === undefined ? "started" : "queued";
  }

  /**
   * Continues the conversation without a prompt if it is unfinished. Then starts a separate run for each prompt that an
   * earlier process left in the queue. Resolves when the first run has begun.
   */
  async continueWork({ isUnfinished }: { readonly isUnfinished: boolean }): Promise<void> {
    const left = [...this.leftOver()];
    const first = isUnfinished ? { content: [] } : left.shift();
    if (first === undefined) return;
    for (const prompt of left) void drain(this.enqueue(prompt, { recorded: Promise.resolve() }));
    void drain(this.start(first));
    await this.options.live()?.begun;
  }

  /** Like `compact`, but for a run whose updates no one reads. Resolves when the run has begun. */
  async acceptCompaction(instructions?: string): Promise<void> {
    void drain(this.compact(instructions));
    await this.options.live()?.begun;
  }

  /** Starts a run that replaces the conversation with a summary. Throws a `UserError` if that is not possible now. */
  compact(instructions?: string): Run {
    if (this.closedBy !== undefined) throw closedSession(this.options.services.sessionId, this.options.transcript);
    const problem = this.whyNotCompact();
    if (problem !== undefined) throw new UserError(problem.message, { code: "compaction", fix: problem.fix });
    return this.start({ content: [], compaction: { instructions } });
  }

  private whyNotCompact(): { readonly message: string; readonly fix: string } | undefined {
    if (this.isBusy)
      return { message: "The main agent is working", fix: "Wait until it has finished, or interrupt it first." };
    if (this.model.describe().provider === "offline")
      return { message: "The offline model can't summarize a conversation", fix: "Choose another model first." };
    const { conversation } = this.options.thread;
    if ((conversation?.messages().length ?? 0) < FEWEST_MESSAGES)
      return { message: "There is nothing to compact yet", fix: "Compact the conversation when it has become long." };
    return undefined;
  }

  /** Sends a message to the run in progress. Returns false if no run is in progress. */
  async tell(content: readonly UserBlock[], promptId: PromptId): Promise<boolean> {
    this.noteWork();
    return (await this.options.live()?.tell({ content, from: "person", promptId })) ?? false;
  }

  /** Notes that the user works in the current mode, unless it is plan mode or the first run will begin in plan mode. */
  private noteWork(): void {
    if (this.mode !== "plan") this.options.dispatcher.prompted();
  }

  /**
   * Replaces the content of a queued prompt, which keeps its place. Returns false if the prompt is not in the queue.
   */
  async edit(promptId: PromptId, content: readonly UserBlock[]): Promise<boolean> {
    const { thread, live } = this.options;
    const record = async (): Promise<boolean> =>
      (await thread.recordIf(hasQueued(promptId), [{ type: "prompt.queued", promptId, content }])) !== undefined;
    const waiting = this.waiting.find((each) => each.promptId === promptId);
    // A run that is beginning may receive the prompt.
    await (waiting?.recorded.catch(() => undefined) ?? live()?.begun);
    if (waiting !== undefined && this.waiting.includes(waiting)) {
      // If the prompt's turn comes while the change is being recorded, its run gets the new content.
      waiting.content = content;
      return record();
    }
    if (waiting?.isHeld === false) return false;
    while (this.held !== undefined) await this.held.catch(() => undefined);
    // Any run that begins receives this prompt, so none may begin with the old content.
    return this.hold(record);
  }

  /** Removes a prompt from the queue. Returns false if the prompt is not in the queue. */
  async withdraw(promptId: PromptId): Promise<boolean> {
    const index = this.waiting.findIndex((waiting) => waiting.promptId === promptId);
    const [waiting] = index === -1 ? [] : this.waiting.splice(index, 1);
    // If this prompt was first in the queue, the next one may be able to start.
    this.startNext();
    await waiting?.recorded.catch(() => undefined);
    const recorded = await this.options.thread.recordIf(hasQueued(promptId), [{ type: "prompt.withdrawn", promptId }]);
    waiting?.turn.resolve();
    return waiting !== undefined || recorded !== undefined;
  }

  /** Keeps queued prompts from starting automatically. They stay in the queue, and the next run receives them. */
  holdQueue(): void {
    for (const waiting of this.waiting.splice(0)) {
      waiting.isHeld = true;
      waiting.turn.resolve();
    }
  }

  /** Number of queued prompts that do not start automatically. The next run receives them. */
  get heldPrompts(): number {
    return this.leftOver().length;
  }

  /** Stops the run in progress. Queued prompts stay in the queue for the next process. */
  async close(cause: "stopped" | "parked"): Promise<void> {
    this.closedBy = cause;
    this.holdQueue();
    this.current?.stop(cause);
    await this.current?.result;
    await this.held?.catch(() => undefined);
  }

  /** Returns the main agent for use as the parent of subagents that are resumed while it has no run in progress. */
  asIdleParent(): LiveAgent {
    const { thread, services } = this.options;
    return {
      agentId: MAIN_AGENT,
      agent: this.keptAgent,
      thread,
      services: { ...services, model: this.usedModel },
      runId: "",
      begun: Promise.resolve(),
      emit: () => {},
      record: async (events) => void (await thread.record(events)),
      beforeCall: async () => undefined,
      refuseSpawn: async () => {},
      isQueued: () => false,
      tell: async () => false,
      endWait: async () => false,
      yield: () => async () => {},
    };
  }

  /** The agent with the head of its conversation. */
  private get keptAgent(): ResolvedAgent {
    return withKeptHead(this.agent, this.options.thread);
  }

  private start({
    content,
    promptId,
    output,
    runId = newRunId(),
    compaction,
  }: PromptParts & Pick<RunRequest, "compaction"> & { content: readonly UserBlock[]; runId?: RunId }): Run {
    const { thread, callback, runOptions } = this.options;
    ({ agent: this.agent, model: this.usedModel } = this.change ?? { agent: this.agent, model: this.usedModel });
    this.change = undefined;
    const services = { ...this.options.services, model: this.usedModel };
    services.budget.resetSpawns();
    const { agent } = this;
    const initial = thread.hasNoConversation && !compaction ? textBlocks(agent.initialPrompt ?? "") : [];
    const stage = this.isStarted ? {} : this.opening();
    this.isStarted = true;
    const run = startRun(services, thread, {
      ...runOptions,
      ...stage,
      refresh: () => this.options.refresh(agent),
      runId,
      agent,
      prompt: [...initial, ...content],
      promptId,
      compaction,
      output,
      leftOver: () => (compaction ? [] : this.leftOver(promptId)),
    });
    this.current = run;
    void run.result.finally(() => {
      this.current = undefined;
      this.startNext();
    });
    if (callback === undefined) return run;
    const record = thread.record.bind(thread);
    return withCallback(run, callback, { agentType: agent.agentType, clock: services.clock, record });
  }

  /** Lets the first prompt in the queue run, unless it has to wait. */
  private startNext(): void {
    if (this.current === undefined && this.held === undefined) this.waiting[0]?.turn.resolve();
  }

  /** Returns the queued prompts that no run in this process will receive. */
  private leftOver(taken?: PromptId): readonly QueuedPrompt[] {
    const own = new Set([taken, ...this.waiting.map(({ promptId }) => promptId)]);
    return this.options.thread.state.queue.filter(({ promptId }) => !own.has(promptId));
  }

  private opening(): Pick<RunRequest, "opens" | "plan" | "onEnter"> {
    const { thread, dispatcher, onFirstRun } = this.options;
    const plan = planChange({
      requested: this.requestedMode,
      mode: this.agent.policy.mode,
      before: thread.state.plan,
      afterPlan: dispatcher.afterPlan,
    });
    return { opens: thread.isNew ? "startup" : "resume", onEnter: onFirstRun, plan };
  }

  private enqueue(
    { promptId, content }: QueuedPrompt,
    { recorded, output }: { readonly recorded: Promise<void> } & Pick<PromptParts, "output">,
  ): Run {
    const waiting: WaitingPrompt = { promptId, content, turn: createDeferred(), recorded, isHeld: false };
    this.waiting.push(waiting);
    const runId = newRunId();
    return createRun(runId, async (outlet) => {
      const onAbort = (): void => void this.withdraw(promptId).catch(() => undefined);
      outlet.signal.addEventListener("abort", onAbort);
      await recorded.catch(() => undefined);
      await waiting.turn.promise;
      outlet.signal.removeEventListener("abort", onAbort);
      // The prompt may have been withdrawn or held, or the session closed, after the previous run ended.
      if (this.waiting[0] !== waiting) return this.notRun(runId, waiting);
      this.waiting.shift();
      return forward(this.start({ content: waiting.content, promptId, output, runId }), outlet);
    });
  }

  private async recordQueued(prompt: QueuedPrompt): Promise<void> {
    // The first line of a transcript must describe the session, so wait until the run in progress has written it.
    await this.options.live()?.begun;
    await this.options.thread.record([{ type: "prompt.queued", ...prompt }]);
  }

  private notRun(runId: RunId, prompt: WaitingPrompt): RunResult {
    const { sessionId } = this.options.services;
    const message = this.whyNotRun(prompt);
    const nothing = { text: "", turns: 0, usage: noUsage, milliseconds: 0, modelMilliseconds: 0, facts: noFacts };
    const reason = this.closedBy === "parked" ? "parked" : "stopped";
    const { model } = this.agent.head;
    return { runId, outcome: "stopped", reason, message, ...nothing, sessionId, agentId: MAIN_AGENT, model };
  }

  private whyNotRun({ isHeld }: WaitingPrompt): string {
    if (this.closedBy !== undefined)
      return `The session was closed before the prompt's turn came.${this.options.transcript.path === undefined ? "" : " The prompt stays in the queue and is sent when the session is resumed."}`;
    return isHeld
      ? "The session was stopped before the prompt's turn came. The prompt stays in the queue, and the next run receives it."
      : "The prompt was withdrawn before its turn came.";
  }
}

function hasQueued(promptId: PromptId): (state: Pick<LoopState, "queue">) => boolean {
  return ({ queue }) => queue.some((queued) => queued.promptId === promptId);
}

/** Minimum number of messages in a conversation that can be compacted. A single prompt and its answer are too short. */
const FEWEST_MESSAGES = 4;

/**
 * Consumes a run that has no other reader, so that its updates do not pile up. The run's lines are also in the feed.
 */
async function drain(run: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of run);
}

/** Forwards a run's updates to the readers that have waited for it while it was queued. */
async function forward(run: Run, { signal, cause, emit }: RunOutlet): Promise<RunResult> {
  const onAbort = (): void => run.stop(cause());
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  for await (const update of run) emit(update);
  signal.removeEventListener("abort", onAbort);
  return run.result;
}

export function closedSession(sessionId: SessionId, { path }: Pick<Transcript, "path">): UserError {
  return new UserError("The session is closed", {
    code: "session_closed",
    fix:
      path === undefined
        ? "Open a new session. To resume sessions, keep them on disk with the `home` option."
        : `Open it again with the \`resume: "${sessionId}"\` option.`,
  });
}
