import { limitsModels, type ResolvedAgent } from "../../agents/index.ts";
import { createId, newAgentId, newRunId } from "../../lib/index.ts";
import { findCall, type LoopState } from "../../loop/index.ts";
import type { Journal } from "../../ports/index.ts";
import {
  type Access,
  type AgentId,
  type ApprovalAnswer,
  type CallId,
  type Decision,
  type DurableEvent,
  type EventOf,
  isUnfinished,
  MAIN_AGENT,
  type PermissionMode,
  type Policy,
  type PromptId,
  type ResumeCause,
  type RunId,
  type SpawnSpec,
} from "../../protocol/index.ts";
import type { Asker } from "../approvals/question.ts";
import { noSpawnText } from "../budget/budget-text.ts";
import { withPolicies } from "../host/plan-mode.ts";
import type { LiveAgent, Retinue } from "../host/run-host.ts";
import { type Recall, Thread } from "../thread/thread.ts";
import { offeredTo } from "./available-agents.ts";
import { isForkConversation, Siblings } from "./forks.ts";
import { type LaunchOptions, launch, type SharedServices } from "./launch.ts";
import { announcedRun, type HooksOf, hasPrompt, reportLostRuns } from "./lost-runs.ts";
import { type Planner, Policies } from "./policies.ts";
import type { ModelNames } from "./prepare.ts";
import type { Prepare, PreparedAgent } from "./prepared-agent.ts";
import { Registry, type SettleLost } from "./registry.ts";
import { askAboutCall, type Concern, preapprove, SpawnGate, type StartedCall } from "./spawn-approval.ts";
import {
  type Caller,
  type RunTerms,
  resultOf,
  type SpawnOutcome,
  type SpawnRequest,
  type Subagent,
  type SubagentResult,
} from "./subagent.ts";
import { stoppedText } from "./task-text.ts";

export interface DispatcherOptions {
  readonly shared: SharedServices;
  readonly journal: Journal;
  readonly prepare: Prepare;
  readonly modelNames: ModelNames;
  /** Returns the agent types that a model can start. */
  readonly offered: () => readonly string[];
  /** Returns the agent types that are not hidden, including those that rules deny. */
  readonly known: () => readonly string[];
  /** Absent if there is no plan mode. */
  readonly plan?: Planner | undefined;
  /** Whether agents may start forks of themselves. */
  readonly mayFork: boolean;
  readonly settleLost: SettleLost;
  /** Looks up calls from earlier processes whose results were not recorded. */
  readonly recall?: Recall | undefined;
  /** Returns the main agent for use as the parent of subagents that are resumed while it has no run in progress. */
  readonly idleMain: () => LiveAgent;
}

type AgentAccess = Extract<Access, { readonly kind: "agent" }>;

interface Reactivation {
  readonly subagent: Subagent;
  readonly terms: RunTerms;
  readonly parent: LiveAgent;
  readonly signal: AbortSignal;
  /** `continued`: the run was lost with its process or was parked, and its prompt is already recorded. */
  readonly how: "resumed" | "continued";
  /** Line for the parent's transcript that precedes the run. Absent if the call that started the agent continues. */
  readonly resumed?: Omit<EventOf<"agent.resumed">, "type" | "agentId" | "runId"> | undefined;
  /** Run that an earlier process announced in the parent's transcript but did not start. */
  readonly runId?: RunId | undefined;
}

/** A prompt from a user or a program for a subagent that has ended. */
export interface WakingPrompt {
  readonly prompt: string;
  readonly promptId: PromptId;
}

type Refused = Extract<SpawnOutcome, { status: "refused" }>;

/** Starts and resumes the subagents of one session, and waits for them. */
export class Dispatcher implements Retinue {
  readonly registry: Registry;
  private readonly options: DispatcherOptions;
  private readonly gate = new SpawnGate();
  private readonly policies: Policies;
  private readonly siblings = new Siblings();
  /** Agents that are about to be resumed. */
  private readonly resuming = new Map<AgentId, Promise<unknown>>();
  private isParking = false;

  constructor(options: DispatcherOptions) {
    this.options = options;
    this.registry = new Registry(options.journal, options.settleLost, options.recall);
    this.policies = new Policies(options.plan);
  }

  get isPlanning(): boolean {
    return this.policies.isPlanning;
  }

  get afterPlan(): PermissionMode {
    return this.policies.afterPlan;
  }

  /** The main agent's permission mode. */
  get mode(): PermissionMode {
    return this.policies.mode;
  }

  get mayFork(): boolean {
    return this.options.mayFork;
  }

  offered(): readonly string[] {
    return this.options.offered();
  }

  /** Returns the agent types that an agent with a run in progress can start. */
  offeredTo(agentId: AgentId): readonly string[] {
    return offeredTo(this.liveAgent(agentId).agent, this.offered());
  }

  mentionable(): readonly string[] {
    return [...new Set([...this.offeredTo(MAIN_AGENT), ...this.options.known()])];
  }

  judged(decision: Decision, policy: Policy): void {
    this.policies.judged(decision, policy);
  }

  /** Notes that the user has sent a prompt to the main agent. */
  prompted(): void {
    this.policies.prompted();
  }

  /** Enters plan mode for the main agent, which has called EnterPlanMode. Returns the main agent. */
  async enterPlan(): Promise<ResolvedAgent> {
    return this.recordMain([this.policies.enteredByAgent()]);
  }

  /** Leaves plan mode for the main agent, whose plan was approved. Returns the permission mode that follows. */
  async leavePlan(): Promise<PermissionMode> {
    const { afterPlan } = this;
    await this.recordMain(this.policies.leftByAgent());
    return afterPlan;
  }

  private async recordMain(events: readonly DurableEvent[]): Promise<ResolvedAgent> {
    const main = this.registry.live.get(MAIN_AGENT);
    if (main === undefined) throw new Error("the main agent called a tool, but has no active run");
    await main.record(events);
    return main.agent;
  }

  /** Sets the main agent's mode, which also limits the agents below it. */
  setMode(mode: PermissionMode): void {
    this.policies.choose(mode);
  }

  policyOf(agentId: AgentId, given: Policy): Policy {
    const policy = this.policies.planned(agentId)(given);
    if (!this.registry.isInBackground(agentId)) return policy;
    return this.policies.inBackground(policy, this.registry.live.get(agentId)?.agent.backgroundPool ?? policy.pool);
  }

  /**
   * Returns whether an agent may start, resume, stop and message other agents. The main agent and agents that have the
   * Task tool may.
   */
  mayDelegate(agentId: AgentId): boolean {
    if (agentId === MAIN_AGENT) return true;
    const live = this.registry.live.get(agentId);
    if (live === undefined || !this.policyOf(agentId, live.agent.policy).pool.includes("Task")) return false;
    const isFork = this.registry.known(agentId)?.fork?.kind === "fork";
    // A fork whose record was lost is recognized by the text in its conversation.
    return !isFork && !isForkConversation(live.thread.conversation?.messages() ?? []);
  }

  /**
   * Returns the agent that a request by a running agent would start or resume, with the names of its model. Rules
   * about agents apply to it.
   */
  async wanted(
    request: Pick<SpawnRequest, "agentType" | "model" | "fork">,
    caller: AgentId,
    resume?: string,
  ): Promise<AgentAccess> {
    const resumed = resume === undefined ? undefined : await this.registry.find(resume, caller);
    const agentType = request.agentType === "" ? (resumed?.agentType ?? "") : request.agentType;
    const terms = resumed?.fork?.kind === "fork" ? { ...request, fork: {} } : request;
    const parent = this.liveAgent(caller);
    if (!limitsModels(parent.services.approvals.policyFor(parent.agent.policy))) return { kind: "agent", agentType };
    const models = await this.options.modelNames(agentType, { terms, parent, keptModel: resumed?.model });
    return { kind: "agent", agentType, models };
  }

  /** Starts a subagent for a call, or continues the subagent that already works on the call. */
  async spawn(request: SpawnRequest, caller: Caller): Promise<SpawnOutcome> {
    const spawned = findCall(this.liveAgent(caller.agentId).thread.state, caller.callId)?.agentId;
    const known = spawned === undefined ? undefined : await this.registry.get(spawned);
    if (known !== undefined) return this.rejoin(known, request, caller);
    const { name } = request;
    // A recorded agent already owns its name.
    const taken = name === undefined || spawned !== undefined ? undefined : this.registry.whyNameIsTaken(name);
    if (taken !== undefined) return refuse(taken);
    const started = await this.registry.claimName(name, () => this.start(request, caller, spawned));
    return "status" in started ? started : this.waitFor(started, caller);
  }

  /**
   * Starts a subagent. `spawned` is set if the call has already recorded an agent, but the process died before the
   * agent wrote its first line.
   */
  private async start(
    request: SpawnRequest,
    caller: Caller,
    spawned: AgentId | undefined,
  ): Promise<Subagent | Refused> {
    const parent = this.liveAgent(caller.agentId);
    const { budget } = parent.services;
    const ask = (concern: Concern) => this.askAbout(caller, concern);
    const refusal = spawned === undefined ? await this.gate.enter(budget, ask) : undefined;
    if (refusal && caller.by !== undefined) return refuse(refusal.message);
    if (refusal) {
      await parent.refuseSpawn(refusal);
      return refuse(noSpawnText(refusal));
    }
    const { callId, signal, by } = caller;
    const { agentType, description, name, isolation, prompt, fork } = request;
    const agentId = spawned ?? newAgentId();
    const depth = (this.registry.known(caller.agentId)?.depth ?? 0) + 1;
    const spec: SpawnSpec = {
      agentId,
      agentType,
      description,
      name,
      isolation,
      depth,
      parent: { agentId: parent.agentId, callId },
      by,
    };
    const forkHead = fork && parent.thread.conversation?.head;
    const ready = await this.options.prepare({ spec, terms: request, parent, signal, forkHead, by });
    if (!ready.ok) {
      if (spawned === undefined) budget.unspawn();
      return refuse(ready.message);
    }
    const approved = await this.preapproved(ready, parent, caller);
    const thread = new Thread(agentId, this.options.journal);
    if (spawned !== undefined) await thread.restore(this.options);
    const first = approved.inherits
      ? this.siblings.startFork(thread, approved, { parent, prompt, turns: fork?.turns })
      : { origin: undefined, prepared: this.siblings.startFresh(approved, parent.thread), prompt: [prompt] };
    const { prepared, origin } = first;
    // The request may have used an alias of the agent type.
    const resolved = { ...spec, agentType: prepared.agent.agentType, fork: origin, runId: newRunId() };
    if (spawned === undefined) {
      const status = origin && "sub_agent_entered";
      const runId = by === "person" ? resolved.runId : undefined;
      await parent.record([
        { type: "agent.spawned", callId, agentId, agentType: resolved.agentType, description, status, by, runId },
        ...(runId === undefined ? [] : [{ type: "run.awaited", agentId, runId } as const]),
      ]);
    }
    const subagent = this.registry.add(resolved);
    this.launch(subagent, { prepared, parent, thread, prompt: first.prompt });
    return subagent;
  }

  /**
   * Starts a subagent of the main agent without a call. The main agent waits for a subagent that the user starts; the
   * result of one that the program starts goes to the program.
   */
  startWithoutCall(by: "program" | "person", request: SpawnRequest, signal: AbortSignal): Promise<Subagent | Refused> {
    return this.start(request, { agentId: MAIN_AGENT, callId: createId(`${by}_`), signal, by }, undefined);
  }

  /** Starts a background agent without a tool call and waits for it. Stops the agent if the signal fires. */
  async delegate(request: SpawnRequest, caller: Caller): Promise<SubagentResult | { readonly message: string }> {
    const outcome = await this.spawn({ ...request, background: true }, caller);
    if (outcome.status === "refused") return outcome;
    if (outcome.status === "ended") return outcome.result;
    const { registry } = this;
    const result = await registry.resultOf(outcome.notice.agentId, caller.signal);
    return result ?? (await registry.stop(outcome.notice.agentId)) ?? { message: "The agent was stopped." };
  }

  /** Resumes a subagent whose last run has ended. */
  async resume(agentId: AgentId, terms: RunTerms, caller: Caller): Promise<SpawnOutcome> {
    const subagent = await this.registry.get(agentId);
    if (subagent === undefined) return refuse(`There is no agent ${agentId} in this session.`);
    const resumed = findCall(this.liveAgent(caller.agentId).thread.state, caller.callId)?.resumes;
    if (resumed !== undefined && (await hasPrompt(this.options.journal, { agentId, runId: resumed })))
      return this.rejoin(subagent, terms, caller);
    const parent = this.liveAgent(caller.agentId);
    const { callId, signal } = caller;
    const refusal = await this.whileResuming(agentId, async () => {
      // A run that is being stopped records by whom when it ends.
      await subagent.running?.done;
      const denied = await this.refusalAfterStop(subagent, caller);
      return denied ?? this.reactivate({ subagent, terms, parent, signal, how: "resumed", resumed: { callId } });
    });
    return refusal ?? this.waitFor(subagent, caller);
  }

  /** Asks whether an agent that the user stopped may be resumed, in every mode. Returns a refusal if it may not. */
  private async refusalAfterStop(subagent: Subagent, caller: Caller): Promise<Refused | undefined> {
    if (!this.registry.wasStoppedByPerson(subagent)) return undefined;
    const { agentId, agentType } = subagent;
    const { mode, unattended } = this.policyOf(caller.agentId, this.liveAgent(caller.agentId).agent.policy);
    const reason = `The user stopped ${agentType} ${agentId}, and this call would resume it.`;
    const concern: Concern = { kind: "call", about: "wake", rule: "stopped agent", reason };
    const approval = mode === "dontAsk" || unattended ? undefined : await this.askAbout(caller, concern);
    return approval?.answer === "allow" ? undefined : refuse(stoppedText(agentId, approval));
  }

  private async whileResuming<T>(agentId: AgentId, resume: () => Promise<T>): Promise<T | Refused> {
    if (this.resuming.has(agentId)) return refuse(`Agent ${agentId} is already being resumed.`);
    const resumed = resume().finally(() => this.resuming.delete(agentId));
    this.resuming.set(agentId, resumed);
    return resumed;
  }

  /** Returns a promise that settles when the agent has been resumed; undefined if it is not about to be resumed. */
  resumptionOf(agentId: AgentId): Promise<unknown> | undefined {
    return this.resuming.get(agentId);
  }

  /**
   * Resumes a subagent in the background without a Task call. The end of the run is reported to the nearest running
   * agent above the subagent, or else to the main agent. If the program started the subagent, the end is reported to neither.
   * Returns the reason if the subagent can't be resumed. When the promise resolves, the prompt is in the subagent's
   * transcript. Pass no prompt to continue a run that was lost or parked.
   */
  async wake(
    subagent: Subagent,
    by: ResumeCause,
    { prompt = "", promptId }: Partial<WakingPrompt> = {},
  ): Promise<string | undefined> {
    const { agentId } = subagent;
    const parent = this.parentOf(subagent);
    const signal = new AbortController().signal;
    const terms: RunTerms = { prompt, background: true };
    const how = by === "person" ? "resumed" : "continued";
    const { end } = subagent;
    const replaces = end !== undefined && isUnfinished(end) ? true : undefined;
    const refused = await this.whileResuming(agentId, async () => {
      const runId = await announcedRun(this.options.journal, { parent: parent.agentId, agentId });
      const reportsTo = this.isForProgram(subagent, parent.agentId) ? "program" : undefined;
      const resumed: Reactivation["resumed"] = { by, promptId, replaces, reportsTo };
      return this.reactivate({ subagent, terms, parent, signal, how, resumed, runId });
    });
    return refused?.message;
  }

  /** Returns the nearest running agent above a subagent, or else the main agent. */
  private parentOf({ parent: { agentId } }: Subagent): LiveAgent {
    if (this.registry.live.has(agentId)) return this.liveAgent(agentId);
    const above = this.registry.known(agentId);
    return above === undefined ? this.withPlan(this.options.idleMain()) : this.parentOf(above);
  }

  /** Returns whether the program started the subagent, or an agent between it and `parent`. */
  private isForProgram(subagent: Subagent, parent: AgentId): boolean {
    if (subagent.by === "program") return true;
    const above = subagent.parent.agentId === parent ? undefined : this.registry.known(subagent.parent.agentId);
    return above !== undefined && this.isForProgram(above, parent);
  }

  /**
   * Continues the background agents that were parked, and those that were waiting for approval when their process
   * ended. `askedCalls` returns an agent's calls whose questions are open or have an answer. With `lost`, also
   * continues agents that were lost with their process, unless the loss was already reported to the main agent. Returns
   * messages about agents that can't continue.
   */
  async continueUnfinished(
    askedCalls: (agentId: AgentId) => readonly CallId[],
    { lost = false } = {},
  ): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const subagent of await this.registry.all()) {
      const cause = await this.registry.whyContinue(subagent, { asked: askedCalls(subagent.agentId), lost });
      const top = cause && this.registry.inBackgroundAbove(subagent);
      if (cause === undefined || top === undefined || top.running || this.resuming.has(top.agentId)) continue;
      if (cause === "lost" && !this.isUnreported(top)) continue;
      const problem = await this.wake(top, cause);
      if (problem !== undefined) problems.push(problem);
    }
    return problems;
  }

  /** Returns whether the program or the main agent expects a report on a background agent's newest run. */
  private isUnreported({ runId, by }: Subagent): boolean {
    if (by === "program") return true;
    return this.options.idleMain().thread.state.background.some((run) => run.runId === runId);
  }

  /** Continues background agents that were lost when their process ended while their parent was waiting for them. */
  async continueAwaited({ awaited, background }: LoopState): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const { agentId } of background.filter(({ runId }) => awaited.includes(runId))) {
      const subagent = await this.registry.get(agentId);
      if (subagent?.end === undefined || !isUnfinished(subagent.end) || this.resuming.has(agentId)) continue;
      const problem = await this.wake(subagent, "awaited");
      if (problem !== undefined) problems.push(problem);
    }
    return problems;
  }

  /** Stops all subagents so that they can continue when the session is resumed. */
  async park(): Promise<void> {
    this.isParking = true;
    await this.registry.stopAll("parked");
  }

  /** Runs the SubagentStop hooks that an earlier process could not run. */
  async reportLostRuns(hooksOf: HooksOf): Promise<void> {
    await reportLostRuns(await this.registry.earlierRuns(), hooksOf, this.options.journal);
  }

  /**
   * Waits again for the subagent that works for this call. A run that was lost with its process is continued; a run
   * that ended in any other way already has a result.
   */
  private async rejoin(subagent: Subagent, terms: RunTerms, caller: Caller): Promise<SpawnOutcome> {
    if (subagent.running) return this.waitFor(subagent, caller);
    const { end } = subagent;
    if (end !== undefined && !isUnfinished(end)) return endedOutcome(subagent, resultOf(subagent, end));
    const parent = this.liveAgent(caller.agentId);
    const refusal = await this.reactivate({ subagent, terms, parent, signal: caller.signal, how: "continued" });
    return refusal ?? this.waitFor(subagent, caller);
  }

  /** Starts a run of an existing subagent. Returns a refusal if that is impossible. */
  private async reactivate({ subagent, terms, parent, ...options }: Reactivation): Promise<Refused | undefined> {
    // A run that has just ended may not have released its resources yet.
    await subagent.running?.done;
    const { how, resumed, signal } = options;
    const { agentId, fork } = subagent;
    const thread = subagent.restored ?? new Thread(agentId, this.options.journal);
    if (!subagent.restored) await thread.restore(this.options);
    if (thread.past === "lost") return refuse(lostPast(subagent));
    const kept: Partial<RunTerms> = options.how === "continued" ? subagent : {};
    const { acceptance = kept.acceptance, outputSchema = kept.outputSchema } = terms;
    const prepared = await this.options.prepare({
      spec: subagent,
      // A fork's limits are already part of its recorded policy.
      terms: { ...terms, acceptance, outputSchema, fork: undefined },
      keptModel: subagent.model,
      parent,
      signal,
      forkHead: fork?.kind === "fork" ? thread.conversation?.head : undefined,
      before: subagent.policy,
      by: resumed?.reportsTo,
    });
    if (!prepared.ok) return refuse(prepared.message);
    const runId = options.runId ?? newRunId();
    if (resumed && options.runId === undefined)
      await parent.record([{ type: "agent.resumed", agentId, runId, ...resumed }]);
    Object.assign(subagent, { runId, end: undefined, worktree: undefined, restored: undefined });
    // The prompt of a continued run is already recorded, unless the process was lost before the run could begin.
    const isFirst = thread.state.asked === undefined;
    const prompt = how === "continued" && !isFirst ? [] : [terms.prompt];
    // Earlier spending matters only if the agent has its own budget.
    const isLimited = Object.keys(prepared.budget).length > 0;
    const spent = isLimited ? await this.registry.spent(agentId) : undefined;
    this.launch(subagent, { prepared, parent, thread, prompt, spent, promptId: resumed?.promptId });
    return undefined;
  }

  private launch(
    subagent: Subagent,
    options: Pick<LaunchOptions, "prepared" | "parent" | "thread" | "prompt" | "promptId" | "spent">,
  ): void {
    const { shared, journal } = this.options;
    launch(subagent, { ...options, shared, journal, retinue: this, registry: this.registry });
  }

  /** Waits until the subagent has ended or has been moved to the background. */
  private async waitFor(subagent: Subagent, { agentId: caller, signal }: Caller): Promise<SpawnOutcome> {
    const { running, agentId } = subagent;
    if (running === undefined) throw new Error(`agent ${agentId} is not running`);
    if (!running.background) {
      const onAbort = () => running.run.stop(this.isParking ? "parked" : "interrupted");
      const resume = this.liveAgent(caller).yield();
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
      const result = await Promise.race([running.done, running.detached.promise]);
      signal.removeEventListener("abort", onAbort);
      await resume(signal);
      if (result) return endedOutcome(subagent, result);
    }
    await this.hasBegun(agentId);
    const notice = { agentId, runId: subagent.runId };
    return { status: "launched", notice, outputFile: running.output.path, isFork: subagent.fork !== undefined };
  }

  /**
   * Waits until the first lines of a run are written, because its caller is about to record that the agent is running.
   * Does not wait for an agent that is waiting for a slot, which its caller may occupy.
   */
  private async hasBegun(agentId: AgentId): Promise<void> {
    const live = this.registry.live.get(agentId);
    if (live === undefined) return;
    await Promise.race([live.begun, new Promise(setImmediate)]);
    if (!live.isQueued()) await live.begun;
  }

  /** Returns an agent with a run in progress. Its policies include plan mode's restrictions. */
  private liveAgent(agentId: AgentId): LiveAgent {
    const live = this.registry.live.get(agentId) ?? (agentId === MAIN_AGENT ? this.options.idleMain() : undefined);
    if (live === undefined) throw new Error(`agent ${agentId} delegates, but has no active run`);
    return this.withPlan(live);
  }

  private withPlan(live: LiveAgent): LiveAgent {
    const agent = withPolicies(live.agent, this.policies.planned(live.agentId));
    return agent === live.agent ? live : { ...live, agent };
  }

  private async preapproved(ready: PreparedAgent, parent: LiveAgent, caller: Caller): Promise<PreparedAgent> {
    if (!ready.background || ready.grants === undefined || !this.options.shared.approvals.attended) return ready;
    return preapprove(ready, this.startedCall(parent, caller));
  }

  /**
   * Asks for approval of a call that has already started. Returns undefined if no approver is available or the call was
   * aborted.
   */
  async askAbout(caller: Caller, concern: Concern): Promise<ApprovalAnswer | undefined> {
    if (!this.options.shared.approvals.attended) return undefined;
    return askAboutCall(this.startedCall(this.liveAgent(caller.agentId), caller), concern);
  }

  private startedCall(parent: LiveAgent, { callId, signal }: Caller): StartedCall {
    const { agentId, agent, services } = parent;
    const own = this.registry.known(agentId);
    const path = own ? this.registry.pathTo(own) : [];
    const background = this.registry.isInBackground(agentId) || undefined;
    const asker: Asker = { sessionId: services.sessionId, agentId, agentType: agent.agentType, path, background };
    return { parent, asker, callId, signal };
  }
}

function endedOutcome({ fork }: Subagent, result: SubagentResult): SpawnOutcome {
  return { status: "ended", result, isFork: fork !== undefined };
}

function refuse(message: string): Refused {
  return { status: "refused", message };
}

function lostPast({ agentId, fork }: Subagent): string {
  return `Agent ${agentId} can't be resumed: it continues the conversation of ${fork?.agentId}, which is no longer on disk. Start another agent.`;
}
