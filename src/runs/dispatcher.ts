import type { ResolvedAgent } from "../agents/index.ts";
import { createDeferred, matchPrefix, newAgentId, newRunId } from "../lib/index.ts";
import type { Hands, Journal, Model } from "../ports/index.ts";
import {
  type AgentId,
  type CallId,
  type Line,
  MAIN_AGENT,
  type Notice,
  type Policy,
  type RunEnd,
  type RunUpdate,
  type ToolReport,
} from "../protocol/index.ts";
import { backgroundPolicy } from "./background-policy.ts";
import { outputText } from "./output-text.ts";
import type { Run } from "./run.ts";
import type { EndedRun, LiveAgent, Retinue, RunServices } from "./run-host.ts";
import { startRun } from "./start-run.ts";
import { Thread } from "./thread.ts";

/** Who is to work and on whose behalf; everything a definition, a call and a parent decide together. */
export interface AgentWish {
  readonly agentId: AgentId;
  readonly agentType: string;
  /** Who delegates, with what it has. */
  readonly parent: Superior;
  /** Of the agent that is wished for. */
  readonly depth: number;
  readonly background: boolean;
  /** It takes messages by a name of its own. */
  readonly named: boolean;
  readonly model?: string;
  readonly maxTurns?: number;
}

export interface Superior {
  readonly agent: ResolvedAgent;
  readonly model: Model;
  readonly hands: Hands;
}

export type PreparedAgent =
  | {
      readonly ok: true;
      readonly agent: ResolvedAgent;
      readonly model: Model;
      readonly hands: Hands;
      readonly cwd: string;
      readonly tools: ToolReport;
      /** The definition wants nobody to wait for it. */
      readonly background: boolean;
      readonly notices: readonly string[];
      /** Lets go of what was made for this run alone. */
      release(): Promise<void>;
    }
  | { readonly ok: false; readonly message: string };

export interface DispatcherServices extends Omit<RunServices, "model" | "hands" | "cwd" | "retinue"> {
  readonly journal: Journal;
  readonly prepare: (wish: AgentWish) => Promise<PreparedAgent>;
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
}

export type Delegated =
  | { readonly status: "ended"; readonly run: EndedRun }
  | { readonly status: "launched"; readonly notice: Notice; readonly outputFile?: string }
  | { readonly status: "refused"; readonly message: string };

/** What is known of an agent of this session. */
export interface AgentRecord {
  readonly agentId: AgentId;
  readonly agentType: string;
  readonly description: string;
  readonly name?: string;
  readonly depth: number;
  readonly callId: CallId;
  readonly outputFile?: string;
  /** Its newest run. */
  readonly runId: string;
  readonly end?: RunEnd;
}

interface Member {
  record: AgentRecord;
  /** Undefined once it has ended. */
  running: Running | undefined;
}

interface Running {
  readonly run: Run;
  /** What made it, released with it. */
  readonly done: Promise<EndedRun>;
  background: boolean;
  /** Resolves when nobody shall wait any more. */
  readonly detached: ReturnType<typeof createDeferred<void>>;
}

/** The agents of one session: who they are, who runs, how each ended. Everything but the live runs is a fold of transcripts. */
export class Dispatcher implements Retinue {
  private readonly services: DispatcherServices;
  private readonly members = new Map<AgentId, Member>();
  private readonly live = new Map<AgentId, LiveAgent>();
  private readonly paths = new Map<AgentId, readonly AgentId[]>([[MAIN_AGENT, []]]);
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

  policyOf(agentId: AgentId, policy: Policy): Policy {
    return this.members.get(agentId)?.running?.background ? backgroundPolicy(policy) : policy;
  }

  /** Starts an agent for a call, or takes up the one that already works on it. */
  async delegate(wish: Delegation, caller: Caller): Promise<Delegated> {
    const parent = this.live.get(caller.agentId);
    if (parent === undefined) throw new Error(`agent ${caller.agentId} delegates without a run`);
    const known = await this.memberFor(caller.callId, parent);
    if (known !== undefined) return this.rejoin(known, parent, { wish, caller });
    const agentId = newAgentId();
    const depth = this.depthOf(caller.agentId) + 1;
    const { agentType, model, maxTurns } = wish;
    const prepared = await this.services.prepare({
      agentId,
      agentType,
      parent: superior(parent),
      depth,
      background: wish.background,
      named: wish.name !== undefined,
      ...(model === undefined ? {} : { model }),
      ...(maxTurns === undefined ? {} : { maxTurns }),
    });
    if (!prepared.ok) return { status: "refused", message: prepared.message };
    const { agent } = prepared;
    await parent.record([
      {
        type: "agent.spawned",
        callId: caller.callId,
        agentId,
        agentType: agent.agentType,
        description: wish.description,
      },
    ]);
    const record: AgentRecord = {
      agentId,
      agentType: agent.agentType,
      description: wish.description,
      ...(wish.name === undefined ? {} : { name: wish.name }),
      depth,
      callId: caller.callId,
      runId: newRunId(),
    };
    const member: Member = { record, running: undefined };
    this.members.set(agentId, member);
    this.paths.set(agentId, [...(this.paths.get(caller.agentId) ?? []), agentId]);
    const thread = new Thread(agentId, this.services.journal);
    this.start(member, prepared, { thread, prompt: wish.prompt, background: wish.background || prepared.background });
    return this.waitFor(member, caller.signal);
  }

  /** Goes on with an agent whose last run has ended. */
  async resume(agentId: AgentId, wish: Delegation, caller: Caller): Promise<Delegated> {
    const parent = this.live.get(caller.agentId);
    const member = await this.memberOf(agentId);
    if (parent === undefined || member === undefined) {
      return { status: "refused", message: `There is no agent ${agentId} in this session.` };
    }
    return this.reactivate(member, parent, { wish, caller });
  }

  /** Every agent of the session, in the order they were created. */
  async records(): Promise<readonly AgentRecord[]> {
    await this.load();
    return [...this.members.values()].map(({ record }) => record);
  }

  async find(reference: string): Promise<AgentRecord | undefined> {
    const records = await this.records();
    const named = records.findLast(({ name }) => name === reference);
    if (named) return named;
    const match = matchPrefix(
      records.map(({ agentId }) => agentId),
      reference,
    );
    return match.kind === "one" ? records.find(({ agentId }) => agentId === match.id) : undefined;
  }

  /** The types that can be asked for. */
  async offered(): Promise<readonly string[]> {
    return this.services.offered();
  }

  /** What an agent has said in its newest run. */
  async words(agentId: AgentId): Promise<string> {
    const live = this.live.get(agentId);
    return live?.thread.state.run?.text ?? "";
  }

  isRunning(agentId: AgentId): boolean {
    return this.members.get(agentId)?.running !== undefined;
  }

  /** Resolves with how it ended; at once when it has, undefined when the signal fires first. */
  async endOf(agentId: AgentId, signal: AbortSignal): Promise<EndedRun | undefined> {
    const member = await this.memberOf(agentId);
    if (member === undefined) return undefined;
    if (member.running === undefined) return member.record.end && endedRun(member.record, member.record.end);
    return orAbort(member.running.done, signal);
  }

  /** Words for a running agent, read at its next request; recorded before this resolves. */
  async tell(agentId: AgentId, text: string): Promise<boolean> {
    const live = this.live.get(agentId);
    if (live === undefined) return false;
    await live.record([{ type: "prompt.received", content: [{ type: "text", text }], from: "agent" }]);
    return this.live.get(agentId) === live;
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
    running?.run.stop("stopped");
    return running?.done;
  }

  /** Ends every agent that still runs; resolves when all have. */
  async stopAll(): Promise<readonly EndedRun[]> {
    const running = [...this.members.values()].flatMap(({ running }) => running ?? []);
    for (const { run } of running) run.stop("stopped");
    return Promise.all(running.map(({ done }) => done));
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

  private start(
    member: Member,
    prepared: PreparedAgent & { ok: true },
    { thread, prompt, background }: { readonly thread: Thread; readonly prompt: string; readonly background: boolean },
  ): void {
    const { record } = member;
    const { journal, prepare: _prepare, offered: _offered, ...shared } = this.services;
    const path = this.paths.get(record.agentId) ?? [record.agentId];
    const output = background ? journal.output(record.agentId) : undefined;
    const onUpdate = (update: RunUpdate): void => {
      if (output && "id" in update) output.append(outputText(update));
      if (update.type === "subagent.event") return;
      const event = {
        type: "subagent.event" as const,
        agentId: record.agentId,
        agentType: record.agentType,
        path,
        event: update,
      };
      this.live.get(MAIN_AGENT)?.emit(event);
    };
    const services: RunServices = {
      ...shared,
      cwd: prepared.cwd,
      model: prepared.model,
      hands: prepared.hands,
      retinue: this,
    };
    const { agentId, agentType, description, name, depth, callId, runId } = record;
    const parent = path.at(-2) ?? MAIN_AGENT;
    const run = startRun(services, thread, {
      runId,
      agent: prepared.agent,
      prompt: prompt === "" ? [] : [{ type: "text", text: prompt }],
      waits: true,
      subagent: {
        birth: {
          agentId,
          agentType,
          description,
          ...(name === undefined ? {} : { name }),
          parent: { agentId: parent, callId },
          depth,
        },
        background,
        tools: prepared.tools,
        onUpdate,
      },
    });
    if (output) member.record = { ...record, outputFile: output.path };
    const done = run.result.then(async ({ sessionId: _session, agentId: _agent, model: _model, ...end }) => {
      await prepared.hands.release(agentId).catch(() => undefined);
      await prepared.release().catch(() => undefined);
      member.record = { ...member.record, end };
      member.running = undefined;
      return endedRun(member.record, end);
    });
    member.running = { run, done, background, detached: createDeferred<void>() };
  }

  /** Until it has ended, or nobody shall wait for it. */
  private async waitFor(member: Member, signal: AbortSignal): Promise<Delegated> {
    const { running, record } = member;
    if (running === undefined) throw new Error(`agent ${record.agentId} does not run`);
    if (!running.background) {
      const onAbort = () => running.run.stop("interrupted");
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
      const ended = await Promise.race([running.done, running.detached.promise]);
      signal.removeEventListener("abort", onAbort);
      if (ended) return { status: "ended", run: ended };
    }
    const { agentId, runId, outputFile } = member.record;
    return { status: "launched", notice: { agentId, runId }, ...(outputFile === undefined ? {} : { outputFile }) };
  }

  private async rejoin(
    member: Member,
    parent: LiveAgent,
    request: { readonly wish: Delegation; readonly caller: Caller },
  ): Promise<Delegated> {
    if (member.running) return this.waitFor(member, request.caller.signal);
    const { end } = member.record;
    // What its process did not live to end goes on; anything else is its result.
    if (end !== undefined && end.reason !== "process_lost")
      return { status: "ended", run: endedRun(member.record, end) };
    return this.reactivate(member, parent, { ...request, wish: { ...request.wish, prompt: "" } });
  }

  private async reactivate(
    member: Member,
    parent: LiveAgent,
    { wish, caller }: { readonly wish: Delegation; readonly caller: Caller },
  ): Promise<Delegated> {
    const { agentId, agentType, depth } = member.record;
    const prepared = await this.services.prepare({
      agentId,
      agentType,
      parent: superior(parent),
      depth,
      background: wish.background,
      named: member.record.name !== undefined,
      ...(wish.maxTurns === undefined ? {} : { maxTurns: wish.maxTurns }),
    });
    if (!prepared.ok) return { status: "refused", message: prepared.message };
    const thread = new Thread(agentId, this.services.journal);
    await thread.restore();
    const { end: _, ...record } = member.record;
    member.record = { ...record, runId: newRunId() };
    this.start(member, prepared, { thread, prompt: wish.prompt, background: wish.background });
    return this.waitFor(member, caller.signal);
  }

  private depthOf(agentId: AgentId): number {
    return this.members.get(agentId)?.record.depth ?? 0;
  }

  /** The agent that was started for a call before; only a call that spawned one has any. */
  private async memberFor(callId: CallId, parent: LiveAgent): Promise<Member | undefined> {
    const spawned = parent.thread.state.calls.find(({ call }) => call.callId === callId)?.agentId;
    return spawned === undefined ? undefined : this.memberOf(spawned);
  }

  private async memberOf(agentId: AgentId): Promise<Member | undefined> {
    const known = this.members.get(agentId);
    if (known) return known;
    await this.load();
    return this.members.get(agentId);
  }

  private async endOfRun({ agentId, runId }: Notice): Promise<EndedRun | undefined> {
    const member = await this.memberOf(agentId);
    if (member === undefined) return undefined;
    const { record } = member;
    if (record.runId === runId) return record.end && endedRun(record, record.end);
    const lines = await this.services.journal.read(agentId);
    const end = lines.findLast((line) => line.type === "run.ended" && line.runId === runId);
    return end?.type === "run.ended" ? endedRun(record, end) : undefined;
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
      const thread = new Thread(agentId, journal);
      // Ends the run that its process left open.
      await thread.restore();
      const record = recordOf(await journal.read(agentId), journal.output(agentId)?.path);
      if (record === undefined) continue;
      this.members.set(agentId, { record, running: undefined });
    }
    for (const { record } of this.members.values()) this.paths.set(record.agentId, [record.agentId]);
  }
}

function superior({ agent, services: { model, hands } }: LiveAgent): Superior {
  return { agent, model, hands };
}

function recordOf(lines: readonly Line[], outputFile: string | undefined): AgentRecord | undefined {
  const created = lines.find((line) => line.type === "agent.created");
  const started = lines.findLast((line) => line.type === "run.started");
  if (created?.type !== "agent.created" || started?.type !== "run.started") return undefined;
  const ended = lines.findLast((line) => line.type === "run.ended" && line.runId === started.runId);
  const { agentId, agentType, description, name, depth, parent } = created;
  return {
    agentId,
    agentType,
    description,
    ...(name === undefined ? {} : { name }),
    depth,
    callId: parent.callId,
    ...(outputFile === undefined || !started.background ? {} : { outputFile }),
    runId: started.runId,
    ...(ended?.type === "run.ended" ? { end: ended } : {}),
  };
}

function endedRun({ agentId, agentType, description, outputFile }: AgentRecord, end: RunEnd): EndedRun {
  return { agentId, agentType, description, ...(outputFile === undefined ? {} : { outputFile }), end };
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
