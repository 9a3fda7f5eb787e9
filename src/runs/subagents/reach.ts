import type { AgentId, Notice } from "../../protocol/index.ts";
import type { StopCause } from "../host/run.ts";
import type { EndedRun, LiveAgent } from "../host/run-host.ts";
import { type AgentRecord, endedRun } from "./agent-record.ts";
import type { Member } from "./member.ts";
import type { Registry } from "./registry.ts";
import { rosterText } from "./roster-text.ts";
import { orAbort } from "./wait-for-end.ts";

/** Reaches the agents of one session: who they are, what they say, how they end; and stops them. */
export class Reach {
  readonly live = new Map<AgentId, LiveAgent>();
  protected readonly registry: Registry;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  enter(agent: LiveAgent): void {
    this.live.set(agent.agentId, agent);
  }

  leave(agentId: AgentId): void {
    this.live.delete(agentId);
  }

  async roster(agentId: AgentId, untold: readonly Notice[]): Promise<string> {
    const records = await this.records();
    // Those of an agent that ended before them are its own by now.
    const inherited = new Set(untold.map(({ runId }) => runId));
    const own = records.filter(({ parent, runId }) => parent === agentId || inherited.has(runId));
    return rosterText(own, untold);
  }

  /** Every agent of the session, the oldest first; or those below one of them. */
  records(above?: AgentId): Promise<readonly AgentRecord[]> {
    return this.registry.records(above);
  }

  /** By name, id or the beginning of an id that only one has. */
  find(reference: string, above?: AgentId): Promise<AgentRecord | undefined> {
    return this.registry.find(reference, above);
  }

  isBehind(agentId: AgentId): boolean {
    const member = this.registry.present(agentId);
    return member !== undefined && (member.running?.background === true || this.isBehind(member.record.parent));
  }

  /** What a running agent has said last. */
  words(agentId: AgentId): string {
    return this.live.get(agentId)?.thread.state.run?.text ?? "";
  }

  isRunning(agentId: AgentId): boolean {
    return this.registry.present(agentId)?.running !== undefined;
  }

  /** It runs, and not in the background: it reports once, and nobody speaks to it before. */
  isWaitedFor(agentId: AgentId): boolean {
    return this.registry.present(agentId)?.running?.background === false;
  }

  /** It is to run, and others have to end before. */
  isQueued(agentId: AgentId): boolean {
    return this.live.get(agentId)?.isQueued() ?? false;
  }

  /** By its record, which no compaction touches. */
  isFork(agentId: AgentId): boolean {
    return this.registry.present(agentId)?.record.fork?.kind === "fork";
  }

  /** Resolves with how it ended; at once when it has, undefined when the signal fires first. */
  async endOf(agentId: AgentId, signal: AbortSignal): Promise<EndedRun | undefined> {
    const member = await this.registry.member(agentId);
    if (member?.running) return orAbort(member.running.done, signal);
    return member?.record.end && endedRun(member.record, member.record.end);
  }

  async ended(runs: readonly Notice[]): Promise<readonly EndedRun[]> {
    const found = await Promise.all(runs.map((notice) => this.registry.endOfRun(notice)));
    return found.filter((end) => end !== undefined);
  }

  async oneEnded(runs: readonly Notice[], signal: AbortSignal): Promise<void> {
    if ((await this.ended(runs)).length > 0) return;
    const waits = runs.flatMap(({ agentId }) => this.registry.present(agentId)?.running?.done ?? []);
    if (waits.length > 0) await orAbort(Promise.race(waits), signal);
  }

  /** Words for a running agent, read at its next request; recorded before this resolves. False: it does not run. */
  async tell(agentId: AgentId, text: string): Promise<boolean> {
    return (await this.live.get(agentId)?.tell(text)) ?? false;
  }

  /** Those of its agents that this one waits for. Answers with the ids. */
  async detachChildren(parent: AgentId, cause: "person" | "timeout"): Promise<readonly AgentId[]> {
    const children = (await this.records()).filter((record) => record.parent === parent);
    const detached = await Promise.all(children.map(({ agentId }) => this.detach(agentId, cause)));
    return children.flatMap(({ agentId }, index) => (detached[index] ? [agentId] : []));
  }

  /** Whoever waits for it stops waiting; it goes on. */
  async detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean> {
    const running = this.registry.present(agentId)?.running;
    const live = this.live.get(agentId);
    if (running === undefined || live === undefined || running.background) return false;
    running.background = true;
    await live.record([{ type: "run.backgrounded", runId: live.runId, cause }]);
    await running.output.begin();
    running.detached.resolve();
    return true;
  }

  /** Who works now, the oldest first; everywhere, or this agent and those below it. */
  working(from?: AgentId): readonly Member[] {
    return this.registry.working(from);
  }

  async stop(agentId: AgentId): Promise<EndedRun | undefined> {
    const running = this.registry.present(agentId)?.running;
    running?.run.stop("stopped");
    return running?.done;
  }

  async cut(runs: readonly Notice[]): Promise<void> {
    const under = runs.flatMap(({ agentId, runId }) => {
      const member = this.registry.present(agentId);
      return member?.record.runId === runId && member.running ? [member.running] : [];
    });
    await endAll(under, "timeout");
  }

  /** Ends every agent that still runs; resolves when all have. */
  async stopAll(): Promise<readonly EndedRun[]> {
    return endAll(
      this.working().flatMap(({ running }) => running ?? []),
      "stopped",
    );
  }
}

function endAll(all: readonly NonNullable<Member["running"]>[], cause: StopCause): Promise<readonly EndedRun[]> {
  for (const { run } of all) run.stop(cause);
  return Promise.all(all.map(({ done }) => done));
}
