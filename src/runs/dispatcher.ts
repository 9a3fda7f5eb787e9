import { recordPolicy } from "../agents/index.ts";
import { createDeferred, type Deferred, matchPrefix, newAgentId, newRunId } from "../lib/index.ts";
import type { Journal } from "../ports/index.ts";
import {
  type AcceptanceResult,
  type AgentId,
  type CallId,
  type DurableEvent,
  MAIN_AGENT,
  type Notice,
  type Policy,
  type RunUpdate,
} from "../protocol/index.ts";
import { checkAcceptance } from "./acceptance.ts";
import { type AgentRecord, aftermathIn, endedRun, endIn, lostRun, recordOf } from "./agent-record.ts";
import type { AgentWish, PreparedAgent, ReadyAgent, Superior } from "./agent-wish.ts";
import { outputText } from "./output-text.ts";
import { rosterText } from "./roster-text.ts";
import type { Run } from "./run.ts";
import type { EndedRun, LiveAgent, Retinue, RunServices } from "./run-host.ts";
import { startRun } from "./start-run.ts";
import { Thread } from "./thread.ts";

export interface DispatcherServices
  extends Omit<RunServices, "model" | "hands" | "cwd" | "budget" | "limits" | "retinue"> {
  readonly journal: Journal;
  readonly prepare: (wish: AgentWish) => Promise<PreparedAgent>;
  /** The types that can be asked for. */
  readonly offered: () => readonly string[];
}

export interface Caller {
  readonly agentId: AgentId;
  readonly callId: CallId;
  readonly signal: AbortSignal;
}

export interface Delegation {
  readonly agentType: string;
  readonly description: string;
  readonly prompt: string;
  readonly background: boolean;
  readonly name?: string;
  readonly model?: string;
  readonly maxTurns?: number;
  readonly isolation?: "worktree";
  readonly acceptance?: string;
}

export type Delegated =
  | { readonly status: "ended"; readonly run: EndedRun }
  | { readonly status: "launched"; readonly notice: Notice; readonly outputFile?: string }
  | { readonly status: "refused"; readonly message: string };

interface Member {
  record: AgentRecord;
  /** Undefined while it does not run. */
  running: Running | undefined;
}

interface Running {
  readonly run: Run;
  /** Settles when everything made for the run is let go. */
  readonly done: Promise<EndedRun>;
  background: boolean;
  /** Ends what goes on after the run itself. */
  readonly after: AbortController;
  /** Resolves when nobody shall wait any more. */
  readonly detached: Deferred<void>;
}

interface Beginning {
  readonly parent: LiveAgent;
  readonly thread: Thread;
  readonly prompt: string;
}

/** The agents of one session: who they are, who runs, how each ended. Everything but the live runs is a fold of transcripts. */
export class Dispatcher implements Retinue {
  private readonly services: DispatcherServices;
  private readonly members = new Map<AgentId, Member>();
  private readonly live = new Map<AgentId, LiveAgent>();
  private readonly narrowed = new WeakMap<Policy, Policy>();
  private loading: Promise<void> | undefined;

  constructor(services: DispatcherServices) {
    this.services = services;
  }

  enter(agent: LiveAgent): void {
    this.live.set(agent.agentId, agent);
  }

  leave(agentId: AgentId): void {
    this.live.delete(agentId);
  }

  async roster(agentId: AgentId, untold: readonly Notice[]): Promise<string> {
    const own = (await this.records()).filter(({ parent }) => parent === agentId);
    return rosterText(own, untold);
  }

  policyOf(agentId: AgentId, policy: Policy): Policy {
    if (!this.members.get(agentId)?.running?.background) return policy;
    const known = this.narrowed.get(policy);
    if (known) return known;
    // Declared tools stay, for the cache; calls outside the list are refused.
    const pool = this.live.get(agentId)?.agent.backgroundPool ?? policy.pool;
    const narrowed = { ...policy, pool };
    this.narrowed.set(policy, narrowed);
    return narrowed;
  }

  /** Starts an agent for a call, or takes up the one that already works on it. */
  async delegate(wish: Delegation, caller: Caller): Promise<Delegated> {
    const parent = this.liveAgent(caller.agentId);
    const known = await this.memberFor(caller.callId, parent);
    if (known !== undefined) return this.rejoin(known, { parent, wish, caller });
    const refusal = parent.services.budget.spawn();
    if (refusal) return { status: "refused", message: refusal.message };
    const agentId = newAgentId();
    const { callId, signal } = caller;
    const { agentType, description, name, model } = wish;
    const depth = this.depthOf(caller.agentId) + 1;
    const copy = wish.isolation === undefined ? {} : { isolation: wish.isolation };
    const more = { ...(model === undefined ? {} : { model }), ...termsOf(wish), ...copy };
    const named = name !== undefined;
    const { background } = wish;
    const asked = { agentId, agentType, parent: superior(parent), depth, background, named, signal, ...more };
    const prepared = await this.services.prepare(asked);
    if (!prepared.ok) return { status: "refused", message: prepared.message };
    const who = { agentId, agentType: prepared.agent.agentType, description };
    await parent.record([{ type: "agent.spawned", callId, ...who }]);
    const record: AgentRecord = {
      ...who,
      ...(name === undefined ? {} : { name }),
      ...copy,
      parent: caller.agentId,
      depth,
      callId,
      runId: newRunId(),
    };
    const member: Member = { record, running: undefined };
    this.members.set(agentId, member);
    const thread = new Thread(agentId, this.services.journal);
    this.start(member, prepared, { parent, thread, prompt: wish.prompt });
    return this.waitFor(member, { parent, caller });
  }

  /** Goes on with an agent whose last run has ended. */
  async resume(agentId: AgentId, wish: Delegation, caller: Caller): Promise<Delegated> {
    const member = await this.memberOf(agentId);
    if (member === undefined) return { status: "refused", message: `There is no agent ${agentId} in this session.` };
    return this.reactivate(member, { parent: this.liveAgent(caller.agentId), wish, caller });
  }

  /** Every agent of the session, the oldest first. */
  async records(): Promise<readonly AgentRecord[]> {
    await this.load();
    return [...this.members.values()].map(({ record }) => record);
  }

  /** By name, id or the beginning of an id that only one has. */
  async find(reference: string): Promise<AgentRecord | undefined> {
    const records = await this.records();
    const named = records.findLast(({ name }) => name === reference);
    if (named) return named;
    const ids = records.map(({ agentId }) => agentId);
    const match = matchPrefix(ids, reference);
    return match.kind === "one" ? records.find(({ agentId }) => agentId === match.id) : undefined;
  }

  offered(): readonly string[] {
    return this.services.offered();
  }

  /** What a running agent has said last. */
  words(agentId: AgentId): string {
    return this.live.get(agentId)?.thread.state.run?.text ?? "";
  }

  isRunning(agentId: AgentId): boolean {
    return this.members.get(agentId)?.running !== undefined;
  }

  /** Resolves with how it ended; at once when it has, undefined when the signal fires first. */
  async endOf(agentId: AgentId, signal: AbortSignal): Promise<EndedRun | undefined> {
    const member = await this.memberOf(agentId);
    if (member?.running) return orAbort(member.running.done, signal);
    return member?.record.end && endedRun(member.record, member.record.end);
  }

  /** Words for a running agent, read at its next request; recorded before this resolves. False: it does not run. */
  async tell(agentId: AgentId, text: string): Promise<boolean> {
    return (await this.live.get(agentId)?.tell(text)) ?? false;
  }

  /** Whoever waits for it stops waiting; it goes on. */
  async detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean> {
    const running = this.members.get(agentId)?.running;
    const live = this.live.get(agentId);
    if (running === undefined || live === undefined || running.background) return false;
    running.background = true;
    await live.record([{ type: "run.backgrounded", runId: live.runId, cause }]);
    running.detached.resolve();
    return true;
  }

  async stop(agentId: AgentId): Promise<EndedRun | undefined> {
    const running = this.members.get(agentId)?.running;
    if (running) halt(running, "stopped");
    return running?.done;
  }

  /** Ends every agent that still runs; resolves when all have. */
  async stopAll(): Promise<readonly EndedRun[]> {
    const all = [...this.members.values()].flatMap(({ running }) => running ?? []);
    for (const running of all) halt(running, "stopped");
    return Promise.all(all.map(({ done }) => done));
  }

  async ended(runs: readonly Notice[]): Promise<readonly EndedRun[]> {
    const found = await Promise.all(runs.map((notice) => this.endOfRun(notice)));
    return found.filter((end) => end !== undefined);
  }

  async oneEnded(runs: readonly Notice[], signal: AbortSignal): Promise<void> {
    if ((await this.ended(runs)).length > 0) return;
    const waits = runs.flatMap(({ agentId }) => this.members.get(agentId)?.running?.done ?? []);
    if (waits.length > 0) await orAbort(Promise.race(waits), signal);
  }

  private start(member: Member, prepared: ReadyAgent, { parent, thread, prompt }: Beginning): void {
    const { journal, prepare: _prepare, offered: _offered, ...shared } = this.services;
    const { agent, model, hands, cwd, limits, background, tools } = prepared;
    const { agentId, agentType, description, name, depth, callId, runId, isolation } = member.record;
    const output = background ? journal.output(agentId) : undefined;
    const policy = recordPolicy(agent.policy, agent.limits);
    member.record = { ...member.record, policy, ...(output ? { outputFile: output.path } : {}) };
    const budget = parent.services.budget.child(prepared.budget, agentType);
    const path = this.pathOf(member.record);
    const onUpdate = (update: RunUpdate): void => {
      if (output && "id" in update) output.append(outputText(update));
      if (update.type === "subagent.event") return;
      this.live.get(MAIN_AGENT)?.emit({ type: "subagent.event", agentId, agentType, path, event: update });
    };
    const called = { ...(name === undefined ? {} : { name }), ...(isolation === undefined ? {} : { isolation }) };
    const birth = { agentId, agentType, description, ...called, parent: { agentId: parent.agentId, callId }, depth };
    const services = { ...shared, cwd, model, hands, budget, limits, retinue: this };
    const run = startRun(services, thread, {
      runId,
      agent,
      prompt: prompt === "" ? [] : [{ type: "text", text: prompt }],
      waits: true,
      subagent: { birth, background, tools, policy, notices: prepared.notices, onUpdate },
    });
    const after = new AbortController();
    // The work counts, whether or not this can be written.
    const recordAfter = async (event: DurableEvent): Promise<void> => {
      for (const line of await thread.record([event]).catch(() => [])) onUpdate(line);
    };
    const done = run.result.then(async (result) => {
      const { sessionId: _session, agentId: _agent, model: _model, ...end } = result;
      const check = end.outcome === "succeeded" ? prepared.acceptance : undefined;
      const acceptance = check === undefined ? undefined : await this.check(check, { parent, prepared, after, member });
      if (acceptance) await recordAfter({ type: "acceptance.checked", runId, ...acceptance });
      await hands.release(agentId).catch(() => undefined);
      for (const event of (await prepared.followUp?.(result)) ?? []) await recordAfter(event);
      const worktree = await prepared.release().catch(() => undefined);
      if (worktree) await recordAfter({ type: "run.cleaned", runId, worktree });
      const aftermath = { ...(worktree ? { worktree } : {}), ...(acceptance ? { acceptance } : {}) };
      member.record = { ...member.record, ...aftermath, end };
      member.running = undefined;
      return endedRun(member.record, end);
    });
    member.running = { run, done, background, after, detached: createDeferred<void>() };
  }

  /** The host's own look at the work, with what the agent may do; it needs a shell only if its superior has one. */
  private check(command: string, { parent, prepared, after, member }: Check): Promise<AcceptanceResult> {
    const { agent, hands } = prepared;
    const { agentId, runId } = member.record;
    const hasShell = parent.agent.policy.pool.includes("Bash");
    const pool = hasShell ? [...new Set([...agent.policy.pool, "Bash"])] : agent.policy.pool;
    const policy = { ...agent.policy, pool };
    const { approvals } = this.services;
    return checkAcceptance({ command, agentId, runId, policy, hands, approvals, signal: after.signal });
  }

  /** Until it has ended, or nobody shall wait for it. */
  private async waitFor(
    member: Member,
    { parent, caller: { signal } }: { readonly parent: LiveAgent; readonly caller: Caller },
  ): Promise<Delegated> {
    const { running, record } = member;
    if (running === undefined) throw new Error(`agent ${record.agentId} does not run`);
    if (!running.background) {
      const onAbort = () => halt(running, "interrupted");
      const goOn = parent.yield();
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
      const ended = await Promise.race([running.done, running.detached.promise]);
      signal.removeEventListener("abort", onAbort);
      await goOn(signal);
      if (ended) return { status: "ended", run: ended };
    }
    const { agentId, runId, outputFile } = member.record;
    return { status: "launched", notice: { agentId, runId }, ...(outputFile === undefined ? {} : { outputFile }) };
  }

  private async rejoin(member: Member, request: Continuation): Promise<Delegated> {
    if (member.running) return this.waitFor(member, request);
    const { end } = member.record;
    // What its process did not live to end goes on; anything else is its result.
    if (end !== undefined && end.reason !== "process_lost")
      return { status: "ended", run: endedRun(member.record, end) };
    return this.reactivate(member, { ...request, wish: { ...request.wish, prompt: "" } });
  }

  private async reactivate(member: Member, { parent, wish, caller }: Continuation): Promise<Delegated> {
    // A run that has just ended is not let go at once.
    await member.running?.done;
    const { end: _, worktree: _worktree, acceptance: _acceptance, ...record } = member.record;
    const { agentId, agentType, depth, name, isolation, policy } = record;
    const { signal } = caller;
    const asked = { agentId, agentType, parent: superior(parent), depth, named: name !== undefined, signal };
    const copy = isolation === undefined ? {} : { isolation };
    const before = policy === undefined ? {} : { before: policy };
    const more = { ...copy, ...before, ...termsOf(wish) };
    const prepared = await this.services.prepare({ ...asked, background: wish.background, ...more });
    if (!prepared.ok) return { status: "refused", message: prepared.message };
    const thread = new Thread(agentId, this.services.journal);
    await thread.restore();
    member.record = { ...record, runId: newRunId() };
    this.start(member, prepared, { parent, thread, prompt: wish.prompt });
    return this.waitFor(member, { parent, caller });
  }

  private liveAgent(agentId: AgentId): LiveAgent {
    const live = this.live.get(agentId);
    if (live === undefined) throw new Error(`agent ${agentId} delegates without a run`);
    return live;
  }

  private depthOf(agentId: AgentId): number {
    return this.members.get(agentId)?.record.depth ?? 0;
  }

  private pathOf({ agentId, parent }: AgentRecord): readonly AgentId[] {
    const above = this.members.get(parent)?.record;
    return above ? [...this.pathOf(above), agentId] : [agentId];
  }

  /** The agent that was started for a call before; only a call that spawned one has any. */
  private async memberFor(callId: CallId, parent: LiveAgent): Promise<Member | undefined> {
    const spawned = parent.thread.state.calls.find(({ call }) => call.callId === callId)?.agentId;
    return spawned === undefined ? undefined : this.memberOf(spawned);
  }

  private async memberOf(agentId: AgentId): Promise<Member | undefined> {
    if (!this.members.has(agentId)) await this.load();
    return this.members.get(agentId);
  }

  private async endOfRun({ agentId, runId }: Notice): Promise<EndedRun | undefined> {
    const member = await this.memberOf(agentId);
    // Nobody may wait for what nobody knows of.
    if (member === undefined) return lostRun({ agentId, runId });
    const { record, running } = member;
    if (record.runId === runId && (record.end || running)) return record.end && endedRun(record, record.end);
    const lines = await this.services.journal.read(agentId);
    const end = endIn(lines, runId);
    if (end === undefined) return lostRun({ agentId, runId });
    const { worktree: _, acceptance: _acceptance, ...rest } = record;
    return endedRun({ ...rest, ...aftermathIn(lines, runId) }, end);
  }

  /** Agents of earlier processes: what their transcripts say. */
  private load(): Promise<void> {
    this.loading ??= this.readAgents();
    return this.loading;
  }

  private async readAgents(): Promise<void> {
    const { journal } = this.services;
    for (const agentId of await journal.agents()) {
      if (this.members.has(agentId)) continue;
      const path = journal.output(agentId)?.path;
      let record = recordOf(await journal.read(agentId), path);
      if (record?.end === undefined) {
        // Ends the run that its process left open.
        await new Thread(agentId, journal).restore();
        record = recordOf(await journal.read(agentId), path);
      }
      if (record !== undefined) this.members.set(agentId, { record, running: undefined });
    }
  }
}

interface Check {
  readonly parent: LiveAgent;
  readonly prepared: ReadyAgent;
  readonly after: AbortController;
  readonly member: Member;
}

interface Continuation {
  readonly parent: LiveAgent;
  readonly wish: Delegation;
  readonly caller: Caller;
}

function superior({ agent, services: { model, hands, cwd } }: LiveAgent): Superior {
  return { agent, model, hands, cwd };
}

/** What a call says about one activation. */
function termsOf({ maxTurns, acceptance }: Delegation): Pick<AgentWish, "maxTurns" | "acceptance"> {
  return { ...(maxTurns === undefined ? {} : { maxTurns }), ...(acceptance === undefined ? {} : { acceptance }) };
}

function halt({ run, after }: Running, cause: "interrupted" | "stopped"): void {
  run.stop(cause);
  after.abort();
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
