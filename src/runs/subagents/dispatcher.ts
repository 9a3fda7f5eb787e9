import { newAgentId, newRunId } from "../../lib/index.ts";
import { findCall } from "../../loop/index.ts";
import type { Journal } from "../../ports/index.ts";
import type { AgentId, ApprovalAnswer, CallId, Policy, RunId, SpawnSpec } from "../../protocol/index.ts";
import { askAboutCall, type BegunCall, type Concern } from "../approvals/ask-about-call.ts";
import { withPolicies } from "../host/plan-mode.ts";
import type { EntrustedWork, LiveAgent, Retinue } from "../host/run-host.ts";
import { Thread } from "../thread/thread.ts";
import type { Forks } from "./forks.ts";
import { type LaunchOptions, launch, type SharedServices } from "./launch.ts";
import { type HooksOf, tellOfLostRuns } from "./lost-runs.ts";
import { type Planner, Policies } from "./policies.ts";
import type { Prepare, PreparedAgent } from "./prepare.ts";
import { Registry, type SettleLost } from "./registry.ts";
import { preapprove, SpawnGate } from "./spawn-approval.ts";
import {
  type RunTerms,
  resultOf,
  type SpawnOutcome,
  type SpawnRequest,
  type Subagent,
  type SubagentResult,
} from "./subagent.ts";

export interface DispatcherOptions {
  readonly shared: SharedServices;
  readonly journal: Journal;
  readonly prepare: Prepare;
  /** Agent types that a model can ask for. */
  readonly offered: () => readonly string[];
  /** Absent: there is no plan mode. */
  readonly plan?: Planner | undefined;
  /** Agents may start forks of themselves. */
  readonly mayFork: boolean;
  readonly settleLost: SettleLost;
}

/** The call that a subagent works for. */
export interface Caller {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

interface Reactivation {
  readonly subagent: Subagent;
  readonly terms: RunTerms;
  readonly caller: Caller;
  /** `continued`: the call that it works for lost its process, and its words are recorded already. */
  readonly how: "resumed" | "continued";
}

/** Starts and resumes the subagents of one session, and waits for them. */
export class Dispatcher implements Retinue {
  readonly registry: Registry;
  private readonly options: DispatcherOptions;
  private readonly gate = new SpawnGate();
  private readonly policies: Policies;
  /** Agents that are about to be resumed. */
  private readonly waking = new Set<AgentId>();
  private forks: Promise<Forks> | undefined;

  constructor(options: DispatcherOptions) {
    this.options = options;
    this.registry = new Registry(options.journal, options.settleLost);
    this.policies = new Policies(options.plan);
  }

  get isPlanning(): boolean {
    return this.policies.isPlanning;
  }

  get mayFork(): boolean {
    return this.options.mayFork;
  }

  offered(): readonly string[] {
    return this.options.offered();
  }

  policyOf(agentId: AgentId, given: Policy): Policy {
    const policy = this.policies.planned(agentId)(given);
    if (!this.registry.isInBackground(agentId)) return policy;
    return this.policies.behind(policy, this.registry.live.get(agentId)?.agent.backgroundPool ?? policy.pool);
  }

  /** Starts a subagent for a call, or continues the one that already works on it. */
  async spawn(request: SpawnRequest, caller: Caller): Promise<SpawnOutcome> {
    const parent = this.liveAgent(caller.agentId);
    const begun = findCall(parent.thread.state, caller.callId)?.agentId;
    const known = begun === undefined ? undefined : await this.registry.get(begun);
    if (known !== undefined) return this.rejoin(known, request, caller);
    const { name } = request;
    // An agent that is recorded already has its name.
    const taken = name === undefined || begun !== undefined ? undefined : this.registry.whyNameIsTaken(name);
    if (taken !== undefined) return refuse(taken);
    const started = await this.registry.claimName(name, () => this.start(request, caller, begun));
    return "status" in started ? started : this.waitFor(started, caller);
  }

  /** `begun` is an agent whose spawn is recorded but that did not live to write a line. */
  private async start(
    request: SpawnRequest,
    caller: Caller,
    begun: AgentId | undefined,
  ): Promise<Subagent | Extract<SpawnOutcome, { status: "refused" }>> {
    const parent = this.liveAgent(caller.agentId);
    const { budget } = parent.services;
    const ask = (concern: Concern) => this.askAbout(caller, concern);
    const refusal = begun === undefined ? await this.gate.enter(budget, ask) : undefined;
    if (refusal) {
      await parent.refuseSpawn(refusal);
      return refuse(refusal.message);
    }
    const { callId, signal } = caller;
    const { agentType, description, name, isolation, fork, ...terms } = request;
    const agentId = begun ?? newAgentId();
    const depth = (this.registry.known(caller.agentId)?.depth ?? 0) + 1;
    const spec: SpawnSpec = {
      agentId,
      agentType,
      description,
      name,
      isolation,
      depth,
      parent: { agentId: caller.agentId, callId },
    };
    const head = parent.thread.conversation?.head;
    const ready = await this.options.prepare({ spec, terms, parent, signal, fork: fork && head && { ...fork, head } });
    if (!ready.ok) {
      if (begun === undefined) budget.unspawn();
      return refuse(ready.message);
    }
    const approved = await this.preapproved(ready, parent, caller);
    const thread = new Thread(agentId, this.options.journal);
    if (begun !== undefined) await thread.restore();
    const { prompt } = request;
    const started = approved.inherits
      ? (await this.loadForks()).start(thread, approved, { parent, prompt, turns: fork?.turns })
      : { origin: undefined, prepared: approved, prompt: [prompt] };
    const { prepared, origin } = started;
    const who = { agentId, agentType: prepared.agent.agentType, description };
    if (begun === undefined) {
      const entry = origin ? { status: "sub_agent_entered" as const } : {};
      await parent.record([{ type: "agent.spawned", callId, ...who, ...entry }]);
    }
    const subagent = this.registry.add({ ...spec, ...who, fork: origin, model: terms.model, runId: newRunId() });
    this.launch(subagent, { prepared, parent, thread, prompt: started.prompt });
    return subagent;
  }

  /** Gives work to a background agent that no call asked for, and waits for it. It is stopped when the signal fires. */
  async entrust(work: EntrustedWork, signal: AbortSignal): Promise<SubagentResult | { readonly message: string }> {
    const { for: agentId, callId, ...request } = work;
    const outcome = await this.spawn({ ...request, background: true }, { agentId, callId, signal });
    if (outcome.status === "refused") return outcome;
    if (outcome.status === "ended") return outcome.result;
    const { registry } = this;
    const result = await registry.resultOf(outcome.notice.agentId, signal);
    return result ?? (await registry.stop(outcome.notice.agentId)) ?? { message: "It was stopped." };
  }

  /** Resumes a subagent whose last run has ended. */
  async resume(agentId: AgentId, terms: RunTerms, caller: Caller): Promise<SpawnOutcome> {
    const subagent = await this.registry.get(agentId);
    if (subagent === undefined) return refuse(`There is no agent ${agentId} in this session.`);
    const begun = findCall(this.liveAgent(caller.agentId).thread.state, caller.callId)?.resumes;
    if (begun !== undefined && (await this.hasHeard(agentId, begun))) return this.rejoin(subagent, terms, caller);
    if (this.waking.has(agentId)) return refuse(`Agent ${agentId} is being resumed already, for another call.`);
    this.waking.add(agentId);
    return this.reactivate({ subagent, terms, caller, how: "resumed" }).finally(() => this.waking.delete(agentId));
  }

  /** Returns whether the run that a call asked for has begun, with the words of that call. */
  private async hasHeard(agentId: AgentId, runId: RunId): Promise<boolean> {
    const lines = await this.options.journal.read(agentId);
    const from = lines.findIndex((line) => line.type === "run.started" && line.runId === runId);
    return from !== -1 && lines.slice(from).some(({ type }) => type === "prompt.received");
  }

  /** Tells hooks of the runs that an earlier process did not live to end. */
  async tellOfLost(hooksOf: HooksOf): Promise<void> {
    await tellOfLostRuns(await this.registry.earlierRuns(), hooksOf, this.options.journal);
  }

  /** Continues to wait for a subagent that works for this call. A run that was lost is continued; any other end is its result. */
  private async rejoin(subagent: Subagent, terms: RunTerms, caller: Caller): Promise<SpawnOutcome> {
    if (subagent.running) return this.waitFor(subagent, caller);
    const { end } = subagent;
    if (end !== undefined && end.reason !== "process_lost") return endedOutcome(subagent, resultOf(subagent, end));
    return this.reactivate({ subagent, terms, caller, how: "continued" });
  }

  private async reactivate({ subagent, terms, caller, how }: Reactivation): Promise<SpawnOutcome> {
    // A run that has just ended is not released at once.
    await subagent.running?.done;
    const parent = this.liveAgent(caller.agentId);
    const { agentId, fork } = subagent;
    const thread = subagent.restored ?? new Thread(agentId, this.options.journal);
    if (!subagent.restored) await thread.restore();
    if (thread.past === "lost") return refuse(lostPast(subagent));
    const model = terms.model ?? subagent.model;
    const head = fork?.kind === "fork" ? thread.conversation?.head : undefined;
    const prepared = await this.options.prepare({
      spec: subagent,
      terms: { ...terms, model },
      parent,
      signal: caller.signal,
      fork: head && { head },
      before: subagent.policy,
    });
    if (!prepared.ok) return refuse(prepared.message);
    const runId = newRunId();
    if (how === "resumed") await parent.record([{ type: "agent.resumed", callId: caller.callId, agentId, runId }]);
    Object.assign(subagent, { model, runId, end: undefined, worktree: undefined, restored: undefined });
    // The words of a continued run are recorded, unless its process was lost before it could begin.
    const isSilent = thread.state.asked === undefined;
    const words = isSilent && fork ? (await import("./forks.ts")).firstWords(terms.prompt, fork) : [terms.prompt];
    const prompt = how === "continued" && !isSilent ? [] : words;
    // Without limits of its own, what it spent before is not needed.
    const isLimited = Object.keys(prepared.budget).length > 0;
    const spent = isLimited ? await this.registry.spent(agentId) : undefined;
    this.launch(subagent, { prepared, parent, thread, prompt, spent });
    return this.waitFor(subagent, caller);
  }

  private launch(
    subagent: Subagent,
    options: Pick<LaunchOptions, "prepared" | "parent" | "thread" | "prompt" | "spent">,
  ): void {
    const { shared, journal } = this.options;
    launch(subagent, { ...options, shared, journal, retinue: this, registry: this.registry });
  }

  /** Waits until the subagent has ended or is moved to the background. */
  private async waitFor(subagent: Subagent, { agentId: caller, signal }: Caller): Promise<SpawnOutcome> {
    const { running, agentId } = subagent;
    if (running === undefined) throw new Error(`agent ${agentId} does not run`);
    if (!running.background) {
      const onAbort = () => running.run.stop("interrupted");
      const resume = this.liveAgent(caller).yield();
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
      const result = await Promise.race([running.done, running.detached.promise]);
      signal.removeEventListener("abort", onAbort);
      await resume(signal);
      if (result) return endedOutcome(subagent, result);
    }
    const notice = { agentId, runId: subagent.runId };
    return { status: "launched", notice, outputFile: running.output.path, isFork: subagent.fork !== undefined };
  }

  /** An agent with a run under way, with what plan mode makes of its policy. */
  private liveAgent(agentId: AgentId): LiveAgent {
    const live = this.registry.live.get(agentId);
    if (live === undefined) throw new Error(`agent ${agentId} delegates without a run`);
    const agent = withPolicies(live.agent, this.policies.planned(agentId));
    return agent === live.agent ? live : { ...live, agent };
  }

  private loadForks(): Promise<Forks> {
    this.forks ??= import("./forks.ts").then(({ Forks }) => new Forks());
    return this.forks;
  }

  private async preapproved(ready: PreparedAgent, parent: LiveAgent, caller: Caller): Promise<PreparedAgent> {
    if (!ready.background || ready.grants === undefined || !this.options.shared.approvals.attended) return ready;
    return preapprove(ready, this.begunCall(parent, caller));
  }

  /** Asks a person about a call that has begun. Returns undefined if no one can be asked, or the call was aborted. */
  async askAbout(caller: Caller, concern: Concern): Promise<ApprovalAnswer | undefined> {
    if (!this.options.shared.approvals.attended) return undefined;
    return askAboutCall(this.begunCall(this.liveAgent(caller.agentId), caller), concern);
  }

  private begunCall(parent: LiveAgent, { callId, signal }: Caller): BegunCall {
    const own = this.registry.known(parent.agentId);
    const path = own ? this.registry.pathTo(own) : [];
    return { parent, path, isBehind: this.registry.isInBackground(parent.agentId), callId, signal };
  }
}

function endedOutcome({ fork }: Subagent, result: SubagentResult): SpawnOutcome {
  return { status: "ended", result, isFork: fork !== undefined };
}

function refuse(message: string): Extract<SpawnOutcome, { status: "refused" }> {
  return { status: "refused", message };
}

function lostPast({ agentId, fork }: Subagent): string {
  return `Agent ${agentId} can't be resumed: the conversation of ${fork?.agentId} that it continues is gone from the disk. Start another agent.`;
}
