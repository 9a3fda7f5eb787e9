import { newAgentId, newRunId } from "../../lib/index.ts";
import { findCall } from "../../loop/index.ts";
import type { Journal } from "../../ports/index.ts";
import type { AgentId, ApprovalAnswer, Policy, RunId } from "../../protocol/index.ts";
import type { BegunCall, Concern } from "../approvals/ask-about-call.ts";
import type { BudgetSpent } from "../budget/budget.ts";
import { withPolicies } from "../host/plan-mode.ts";
import type { EndedRun, Entrusted, LiveAgent, Retinue } from "../host/run-host.ts";
import { Thread } from "../thread/thread.ts";
import { endedRun } from "./agent-record.ts";
import type { AgentWish, PreparedAgent, ReadyAgent } from "./agent-wish.ts";
import { type Caller, type Delegated, type Delegation, superior, termsOf } from "./delegation.ts";
import { entryOf, forkWish, lostPast } from "./fork-wish.ts";
import type { ForkStart, Forks } from "./forks.ts";
import { launch, type SharedServices } from "./launch.ts";
import { type HooksOf, tellOfLostRuns } from "./lost-runs.ts";
import type { Member } from "./member.ts";
import { Names } from "./names.ts";
import { type Planner, Policies } from "./policies.ts";
import { Reach } from "./reach.ts";
import { Registry, type SettleLost } from "./registry.ts";
import { SpawnGate } from "./spawn-gate.ts";
import { waitForEnd } from "./wait-for-end.ts";

export interface DispatcherServices extends SharedServices {
  readonly journal: Journal;
  readonly prepare: (wish: AgentWish) => Promise<PreparedAgent>;
  /** The types that can be asked for. */
  readonly offered: () => readonly string[];
  /** Absent: there is no plan mode. */
  readonly plan?: Planner;
  /** Agents may start forks of themselves. */
  readonly forks: boolean;
  /** Lets go of what an agent had whose process was lost, and says what has to stay. Never rejects. */
  readonly settleLost: SettleLost;
}

interface Continuation {
  readonly parent: LiveAgent;
  readonly wish: Delegation;
  readonly caller: Caller;
}

type Preapproval = Pick<Continuation, "parent" | "caller">;

type Refused = Extract<Delegated, { status: "refused" }>;

interface Beginning {
  readonly parent: LiveAgent;
  readonly thread: Thread;
  readonly prompt: readonly string[];
  readonly spent?: BudgetSpent;
}

/** Gives work to the agents of one session, and waits for them. */
export class Dispatcher extends Reach implements Retinue {
  private readonly services: DispatcherServices;
  /** They are about to go on. */
  private readonly waking = new Set<AgentId>();
  private readonly names = new Names(this.registry);
  private readonly gate = new SpawnGate((caller, concern) => this.askAbout(caller, concern));
  private readonly policies: Policies;
  private forks: Promise<Forks> | undefined;

  constructor(services: DispatcherServices) {
    super(new Registry(services.journal, services.settleLost));
    this.services = services;
    this.policies = new Policies(services.plan);
  }

  /** Nothing is changed by anybody before a person has approved a plan. */
  get isPlanning(): boolean {
    return this.policies.isPlanning;
  }

  policyOf(agentId: AgentId, given: Policy): Policy {
    const policy = this.policies.planned(agentId)(given);
    if (!this.isBehind(agentId)) return policy;
    return this.policies.behind(policy, this.live.get(agentId)?.agent.backgroundPool ?? policy.pool);
  }

  /** Starts an agent for a call, or takes up the one that already works on it. */
  async delegate(wish: Delegation, caller: Caller): Promise<Delegated> {
    const parent = this.liveAgent(caller.agentId);
    const begun = findCall(parent.thread.state, caller.callId)?.agentId;
    const known = begun === undefined ? undefined : await this.registry.member(begun);
    if (known !== undefined) return this.rejoin(known, { parent, wish, caller });
    const { name } = wish;
    // One that has its line has its name.
    const taken = name === undefined || begun !== undefined ? undefined : this.names.whyTaken(name);
    if (taken !== undefined) return { status: "refused", message: taken };
    const started = await this.names.claim(name, () => this.start({ parent, wish, caller }, begun));
    return "status" in started ? started : waitForEnd(started, { parent, caller });
  }

  private async start({ parent, wish, caller }: Continuation, begun: AgentId | undefined): Promise<Member | Refused> {
    const { budget } = parent.services;
    // One that has its line is counted already.
    const refusal = begun === undefined ? await this.gate.enter(budget, caller) : undefined;
    if (refusal) {
      await parent.refuseSpawn(refusal);
      return { status: "refused", message: refusal.message };
    }
    // One that was named and did not live to write a line begins now, under its name.
    const agentId = begun ?? newAgentId();
    const { callId, signal } = caller;
    const { agentType, description, name, model, background } = wish;
    const depth = this.depthOf(caller.agentId) + 1;
    const copy = wish.isolation === undefined ? {} : { isolation: wish.isolation };
    const chosen = model === undefined ? {} : { model };
    const more = { ...chosen, ...termsOf(wish), ...copy, ...forkWish(wish, parent.thread) };
    const named = name !== undefined;
    const asked = { agentId, agentType, parent: superior(parent), depth, background, named, signal, ...more };
    const ready = await this.services.prepare(asked);
    if (!ready.ok) {
      if (begun === undefined) budget.unspawn();
      return { status: "refused", message: ready.message };
    }
    const prepared = await this.preapproved(ready, { parent, caller });
    const thread = new Thread(agentId, this.services.journal);
    if (begun !== undefined) await thread.restore();
    const { origin, ...beginning } = await this.begin(thread, prepared, { parent, wish });
    const who = { agentId, agentType: prepared.agent.agentType, description };
    if (begun === undefined) await parent.record([{ type: "agent.spawned", callId, ...who, ...entryOf(origin) }]);
    const member = this.registry.add({
      ...who,
      ...(name === undefined ? {} : { name }),
      ...copy,
      ...(origin === undefined ? {} : { fork: origin }),
      ...chosen,
      parent: caller.agentId,
      depth,
      callId,
      runId: newRunId(),
    });
    this.launch(member, beginning.prepared, { parent, thread, prompt: beginning.prompt });
    return member;
  }

  async entrust(work: Entrusted, signal: AbortSignal): Promise<EndedRun | { readonly message: string }> {
    const { for: agentId, callId, ...wish } = work;
    const delegated = await this.delegate({ ...wish, background: true }, { agentId, callId, signal });
    if (delegated.status === "refused") return delegated;
    if (delegated.status === "ended") return delegated.run;
    const { notice } = delegated;
    const ended = await this.endOf(notice.agentId, signal);
    return ended ?? (await this.stop(notice.agentId)) ?? { message: "It was stopped." };
  }

  /** Goes on with an agent whose last run has ended. */
  async resume(agentId: AgentId, wish: Delegation, caller: Caller): Promise<Delegated> {
    const member = await this.registry.member(agentId);
    if (member === undefined) return { status: "refused", message: `There is no agent ${agentId} in this session.` };
    const request = { parent: this.liveAgent(caller.agentId), wish, caller };
    const begun = findCall(request.parent.thread.state, caller.callId)?.resumes;
    if (begun !== undefined && (await this.hasHeard(agentId, begun))) return this.rejoin(member, request);
    if (this.waking.has(agentId))
      return { status: "refused", message: `Agent ${agentId} goes on already, for another call.` };
    this.waking.add(agentId);
    return this.reactivate(member, request).finally(() => this.waking.delete(agentId));
  }

  /** Whether the run that a call wanted has begun, with the words of that call. */
  private async hasHeard(agentId: AgentId, runId: RunId): Promise<boolean> {
    const lines = await this.services.journal.read(agentId);
    const from = lines.findIndex((line) => line.type === "run.started" && line.runId === runId);
    return from !== -1 && lines.slice(from).some(({ type }) => type === "prompt.received");
  }

  /** Hooks hear of the runs that an earlier process did not live to end: those of each agent. */
  async tellOfLost(hooksOf: HooksOf): Promise<void> {
    await tellOfLostRuns(await this.records(), hooksOf, this.services.journal);
  }

  offered(): readonly string[] {
    return this.services.offered();
  }

  /** Whether agents may start forks of themselves. */
  get mayFork(): boolean {
    return this.services.forks;
  }

  /** With nothing but its prompt, or with the conversation of who starts it. */
  private async begin(
    thread: Thread,
    prepared: ReadyAgent,
    { parent, wish }: Pick<Continuation, "parent" | "wish">,
  ): Promise<Omit<ForkStart, "origin"> & Partial<ForkStart>> {
    if (prepared.inherits === undefined) return { prepared, prompt: [wish.prompt] };
    this.forks ??= import("./forks.ts").then(({ Forks }) => new Forks());
    return (await this.forks).start(thread, prepared, { parent, wish });
  }

  private launch(member: Member, prepared: ReadyAgent, beginning: Beginning): void {
    const {
      journal,
      prepare: _prepare,
      offered: _offered,
      forks: _forks,
      settleLost: _settle,
      ...shared
    } = this.services;
    const path = this.registry.pathTo(member.record);
    launch(member, { ...beginning, prepared, path, shared, retinue: this, journal });
  }

  private async rejoin(member: Member, request: Continuation): Promise<Delegated> {
    if (member.running) return waitForEnd(member, request);
    const { end } = member.record;
    // What its process did not live to end goes on; anything else is its result.
    if (end !== undefined && end.reason !== "process_lost")
      return { status: "ended", run: endedRun(member.record, end) };
    return this.reactivate(member, request, "taken up");
  }

  private async reactivate(
    member: Member,
    { parent, wish, caller }: Continuation,
    how?: "taken up",
  ): Promise<Delegated> {
    // A run that has just ended is not let go at once.
    await member.running?.done;
    const { end: _, worktree: _worktree, ...record } = member.record;
    const { agentId, agentType, depth, name, isolation, policy, fork } = record;
    const thread = new Thread(agentId, this.services.journal);
    await thread.restore();
    if (thread.past === "lost") return { status: "refused", message: lostPast(member.record) };
    const { model = record.model } = wish;
    const { signal } = caller;
    const asked = { agentId, agentType, parent: superior(parent), depth, named: name !== undefined, signal };
    const copy = isolation === undefined ? {} : { isolation };
    const allowed = policy === undefined ? {} : { before: policy };
    const chosen = model === undefined ? {} : { model };
    const own = fork?.kind === "fork" ? forkWish({ fork: {} }, thread) : {};
    const more = { ...copy, ...allowed, ...chosen, ...termsOf(wish), ...own };
    const prepared = await this.services.prepare({ ...asked, background: wish.background, ...more });
    if (!prepared.ok) return { status: "refused", message: prepared.message };
    const runId = newRunId();
    if (how === undefined) await parent.record([{ type: "agent.resumed", callId: caller.callId, agentId, runId }]);
    member.record = { ...record, ...chosen, runId };
    // Its words were recorded, unless its process was lost before it could begin.
    const isSilent = thread.state.asked === undefined;
    const words = isSilent && fork ? (await import("./forks.ts")).firstWords(wish.prompt, fork) : [wish.prompt];
    const prompt = how === "taken up" && !isSilent ? [] : words;
    // Without limits nobody asks, and no transcripts need be read.
    const isLimited = Object.keys(prepared.budget).length > 0;
    const before = isLimited ? { spent: await this.registry.spent(agentId) } : {};
    this.launch(member, prepared, { parent, thread, prompt, ...before });
    return waitForEnd(member, { parent, caller });
  }

  private liveAgent(agentId: AgentId): LiveAgent {
    const live = this.live.get(agentId);
    if (live === undefined) throw new Error(`agent ${agentId} delegates without a run`);
    const agent = withPolicies(live.agent, this.policies.planned(agentId));
    return agent === live.agent ? live : { ...live, agent };
  }

  private async preapproved(
    ready: ReadyAgent,
    { parent, caller: { callId, signal } }: Preapproval,
  ): Promise<ReadyAgent> {
    if (!ready.background || ready.grants === undefined || !this.services.approvals.attended) return ready;
    const { preapprove } = await import("./preapprove.ts");
    return preapprove(ready, this.begunCall(parent, { callId, signal }));
  }

  /** About a call that has begun. Undefined: nobody can be asked, or wants to know any more. */
  async askAbout(caller: Caller, concern: Concern): Promise<ApprovalAnswer | undefined> {
    if (!this.services.approvals.attended) return undefined;
    const { askAboutCall } = await import("../approvals/ask-about-call.ts");
    return askAboutCall(this.begunCall(this.liveAgent(caller.agentId), caller), concern);
  }

  private begunCall(parent: LiveAgent, { callId, signal }: Pick<Caller, "callId" | "signal">): BegunCall {
    const { agentId } = parent;
    const own = this.registry.present(agentId)?.record;
    const path = own ? this.registry.pathTo(own) : [];
    return { parent, path, isBehind: this.isBehind(agentId), callId, signal };
  }

  private depthOf(agentId: AgentId): number {
    return this.registry.present(agentId)?.record.depth ?? 0;
  }
}
