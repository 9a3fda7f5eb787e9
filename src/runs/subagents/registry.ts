import { matchId } from "../../lib/index.ts";
import type { Journal } from "../../ports/index.ts";
import {
  type AgentId,
  type CallId,
  type Changes,
  type DurableEvent,
  isUnfinished,
  type KeptWorktree,
  type Line,
  MAIN_AGENT,
  type RunRef,
} from "../../protocol/index.ts";
import type { BudgetSpent } from "../budget/budget.ts";
import { spendingIn, sumSpending } from "../budget/spending.ts";
import type { StopCause } from "../host/run.ts";
import type { LiveAgent, RunRegistry } from "../host/run-host.ts";
import { orAbort } from "../or-abort.ts";
import { type Recall, Thread } from "../thread/thread.ts";
import { type EarlierRuns, earlierRuns } from "./lost-runs.ts";
import {
  changesSoFar,
  cleanUpOf,
  endOf,
  labelOf,
  lostResult,
  type RunningSubagent,
  readSubagent,
  resultOf,
  type Subagent,
  type SubagentResult,
  worktreeOf,
} from "./subagent.ts";
import { rosterText } from "./task-text.ts";

/**
 * Releases the resources of an agent whose process died. Returns the agent's worktree if it must be kept. Never
 * rejects.
 */
export type SettleLost = (agentId: AgentId) => Promise<KeptWorktree | undefined>;

/**
 * The subagents of a session, oldest first, and the agents that are running. Subagents from earlier processes are read
 * from their transcripts once, when they are first needed.
 */
export class Registry implements RunRegistry {
  /** Agents with a run in progress, including the main agent. */
  readonly live = new Map<AgentId, LiveAgent>();
  private readonly journal: Journal;
  private readonly settleLost: SettleLost;
  private readonly recall: Recall | undefined;
  private readonly subagents = new Map<AgentId, Subagent>();
  /** Names of agents that are about to start. */
  private readonly claimedNames = new Set<string>();
  private loading: Promise<readonly EarlierRuns[]> | undefined;

  constructor(journal: Journal, settleLost: SettleLost, recall?: Recall) {
    this.journal = journal;
    this.settleLost = settleLost;
    this.recall = recall;
  }

  enter(agent: LiveAgent): void {
    this.live.set(agent.agentId, agent);
  }

  leave(agentId: AgentId): void {
    this.live.delete(agentId);
  }

  add(subagent: Subagent): Subagent {
    this.subagents.set(subagent.agentId, subagent);
    return subagent;
  }

  /** Returns a subagent if it is already loaded. Running agents are always loaded. */
  known(agentId: AgentId): Subagent | undefined {
    return this.subagents.get(agentId);
  }

  async get(agentId: AgentId): Promise<Subagent | undefined> {
    if (!this.subagents.has(agentId)) await this.load();
    return this.subagents.get(agentId);
  }

  /** Returns all subagents below an agent. */
  async all(ancestor: AgentId = MAIN_AGENT): Promise<readonly Subagent[]> {
    await this.load();
    const all = [...this.subagents.values()];
    return ancestor === MAIN_AGENT ? all : all.filter((each) => this.pathTo(each).slice(0, -1).includes(ancestor));
  }

  /** Finds a subagent by name, by id, or by the start or end of an id if that matches only one agent. */
  async find(reference: string, ancestor?: AgentId): Promise<Subagent | undefined> {
    const all = await this.all(ancestor);
    const named = all.filter(({ name }) => name === reference);
    // A name can be reused after its agent has ended. It refers to the running agent, or else to the newest one.
    const meant = named.findLast(({ running }) => running) ?? named.at(-1);
    if (meant) return meant;
    const ids = all.map(({ agentId }) => agentId);
    // Files and notices refer to an agent as `agent-<id>`.
    const match = matchId(ids, reference.replace(/^agent-/, ""));
    return match.kind === "one" ? this.subagents.get(match.id) : undefined;
  }

  /**
   * Returns the reason why the name can't be given to another agent now. An agent keeps its name as long as it is
   * running.
   */
  whyNameIsTaken(name: string): string | undefined {
    const other = this.working().find((each) => each.name === name);
    if (other === undefined && !this.claimedNames.has(name)) return undefined;
    const owner = other ? `agent ${labelOf(other)}` : "an agent that is starting";
    return `The name "${name}" is taken by ${owner}. Choose another name, or omit it.`;
  }

  /** Reserves a name while `start` runs. */
  async claimName<T>(name: string | undefined, start: () => Promise<T>): Promise<T> {
    if (name === undefined) return start();
    this.claimedNames.add(name);
    return start().finally(() => this.claimedNames.delete(name));
  }

  /** Returns the ids of the agents from the main agent's child down to this agent. */
  pathTo({ agentId, parent }: Subagent): readonly AgentId[] {
    const above = this.subagents.get(parent.agentId);
    return above ? [...this.pathTo(above), agentId] : [agentId];
  }

  /** Returns the running agents among `top` and all agents below it. */
  working(top: AgentId = MAIN_AGENT): readonly Subagent[] {
    const all = [...this.subagents.values()].filter(({ running }) => running !== undefined);
    return top === MAIN_AGENT ? all : all.filter((each) => this.pathTo(each).includes(top));
  }

  isRunning(agentId: AgentId): boolean {
    return this.subagents.get(agentId)?.running !== undefined;
  }

  /** Returns whether the agent is running and its caller is waiting for it. */
  isWaitedFor(agentId: AgentId): boolean {
    return this.subagents.get(agentId)?.running?.background === false;
  }

  isInBackground(agentId: AgentId): boolean {
    const subagent = this.subagents.get(agentId);
    if (subagent === undefined) return false;
    return subagent.running?.background === true || this.isInBackground(subagent.parent.agentId);
  }

  /**
   * Returns the nearest agent, starting with the agent itself and going up, that no other agent waits for, because its
   * newest run worked in the background or the program started it.
   */
  inBackgroundAbove(subagent: Subagent): Subagent | undefined {
    const above = this.subagents.get(subagent.parent.agentId);
    return subagent.inBackground || subagent.by === "program" ? subagent : above && this.inBackgroundAbove(above);
  }

  /**
   * Returns why an agent that is not running should continue: because it was parked, because one of its calls was
   * waiting for approval when the process ended, or, if lost agents are to continue, because it was lost with its
   * process. `asked`: the agent's calls whose questions are open or have an answer.
   */
  async whyContinue(
    { agentId, end, running, restored }: Subagent,
    { asked, lost }: { readonly asked: readonly CallId[]; readonly lost: boolean },
  ): Promise<"parked" | "approval" | "lost" | undefined> {
    if (running || end === undefined || !isUnfinished(end)) return undefined;
    if (end.reason === "parked") return "parked";
    if (lost) return "lost";
    if (asked.length === 0) return undefined;
    const thread = restored ?? new Thread(agentId, this.journal);
    if (!restored) await thread.restore({ recall: this.recall });
    // The process may have died after it asked and before it recorded the question.
    const isOpen = (status: string): boolean => status === "new" || status === "asked";
    const waits = thread.state.calls.some(({ call, status }) => isOpen(status) && asked.includes(call.callId));
    return waits ? "approval" : undefined;
  }

  /** Returns what a subagent and all agents below it have spent in all their runs. */
  async spent(agentId: AgentId): Promise<BudgetSpent> {
    const below = await this.all(agentId);
    const all = [agentId, ...below.map((each) => each.agentId)];
    return sumSpending(await Promise.all(all.map(async (each) => spendingIn(await this.journal.read(each)))));
  }

  /** Returns the runs from earlier processes. Used for the session's budget and for hooks that have not run yet. */
  earlierRuns(): Promise<readonly EarlierRuns[]> {
    return this.load();
  }

  /** Waits for the result of the subagent's newest run. Returns undefined if the signal fires first. */
  async resultOf(agentId: AgentId, signal: AbortSignal): Promise<SubagentResult | undefined> {
    const subagent = await this.get(agentId);
    if (subagent?.running) return orAbort(subagent.running.done, signal);
    return subagent?.end && resultOf(subagent, subagent.end);
  }

  async ended(runs: readonly RunRef[]): Promise<readonly SubagentResult[]> {
    const found = await Promise.all(runs.map((notice) => this.resultOfRun(notice)));
    return found.filter((result) => result !== undefined);
  }

  async oneEnded(runs: readonly RunRef[], signal: AbortSignal): Promise<void> {
    if ((await this.ended(runs)).length > 0) return;
    const waits = runs.flatMap(({ agentId }) => this.subagents.get(agentId)?.running?.done ?? []);
    if (waits.length > 0) await orAbort(Promise.race(waits), signal);
  }

  async roster(agentId: AgentId, unreported: readonly RunRef[]): Promise<string> {
    // When an agent has ended, its background agents report to its parent.
    const inherited = new Set(unreported.map(({ runId }) => runId));
    const all = await this.all();
    return rosterText(
      all.filter(({ parent, runId }) => parent.agentId === agentId || inherited.has(runId)),
      unreported,
    );
  }

  async detach(agentId: AgentId, cause: "person" | "timeout"): Promise<boolean> {
    const subagent = this.subagents.get(agentId);
    const live = this.live.get(agentId);
    const running = subagent?.running;
    if (!subagent || !running || live === undefined || running.background) return false;
    running.background = true;
    subagent.inBackground = true;
    await live.record([{ type: "run.backgrounded", runId: live.runId, cause }]);
    await running.output.begin();
    running.detached.resolve();
    return true;
  }

  /** Moves the subagents that `parent` is waiting for to the background. Returns their ids. */
  async detachChildren(parent: AgentId, cause: "person" | "timeout"): Promise<readonly AgentId[]> {
    const children = (await this.all()).filter((each) => each.parent.agentId === parent);
    const detached = await Promise.all(children.map(({ agentId }) => this.detach(agentId, cause)));
    return children.flatMap(({ agentId }, index) => (detached[index] ? [agentId] : []));
  }

  async stop(agentId: AgentId, cause: StopCause = "stopped"): Promise<SubagentResult | undefined> {
    const running = this.subagents.get(agentId)?.running;
    running?.run.stop(cause);
    return running?.done;
  }

  /** Returns whether the user has stopped an agent, or the agent above it that was waiting for it. */
  wasStoppedByPerson({ end, parent }: Subagent): boolean {
    if (end?.reason !== "interrupted") return end?.stoppedBy === "person";
    const above = this.subagents.get(parent.agentId);
    return above !== undefined && this.wasStoppedByPerson(above);
  }

  async cut(runs: readonly RunRef[]): Promise<void> {
    const all = runs.flatMap(({ agentId, runId }) => {
      const subagent = this.subagents.get(agentId);
      return subagent?.runId === runId ? (subagent.running ?? []) : [];
    });
    await endAll(all, "timeout");
  }

  /** Stops all running subagents. Resolves when they have ended. */
  async stopAll(cause: StopCause = "stopped"): Promise<readonly SubagentResult[]> {
    return endAll(
      this.working().flatMap(({ running }) => running ?? []),
      cause,
    );
  }

  changesSoFar(runs: readonly RunRef[]): readonly Changes[] {
    return runs.flatMap(({ agentId, runId }) => {
      const subagent = this.subagents.get(agentId);
      if (subagent?.runId !== runId) return [];
      const live = this.live.get(agentId);
      const below = [...this.subagents.values()].flatMap((each) =>
        each.running?.background === false && each.parent.agentId === agentId ? [each] : [],
      );
      const unreturned = live?.thread.state.background ?? subagent.end?.facts.unreturned ?? [];
      return [changesSoFar(subagent, live) ?? [], this.changesSoFar([...below, ...unreturned])].flat();
    });
  }

  /** Returns a run's result, or undefined while the run is in progress. */
  private async resultOfRun({ agentId, runId }: RunRef): Promise<SubagentResult | undefined> {
    const subagent = await this.get(agentId);
    if (subagent === undefined) return lostResult({ agentId, runId });
    if (subagent.runId === runId && (subagent.end || subagent.running))
      return subagent.end && resultOf(subagent, subagent.end);
    const lines = await this.journal.read(agentId);
    const end = endOf(lines, runId);
    return end ? resultOf({ ...subagent, worktree: worktreeOf(lines, runId) }, end) : lostResult({ agentId, runId });
  }

  private load(): Promise<readonly EarlierRuns[]> {
    this.loading ??= this.readTranscripts();
    return this.loading;
  }

  private async readTranscripts(): Promise<readonly EarlierRuns[]> {
    const found: EarlierRuns[] = [];
    for (const agentId of await this.journal.agents()) {
      if (this.subagents.has(agentId)) continue;
      found.push(await this.readTranscript(agentId));
    }
    return found;
  }

  private async readTranscript(agentId: AgentId): Promise<EarlierRuns> {
    let lines = await this.journal.read(agentId);
    const subagent = readSubagent(lines);
    let restored: Thread | undefined;
    if (subagent?.end === undefined || cleanUpOf(lines, subagent.runId) === undefined) {
      restored = new Thread(agentId, this.journal);
      lines = [...lines, ...(await this.endLostRun(restored, lines))];
    }
    const known = restored ? readSubagent(lines) : subagent;
    if (known) this.add({ ...known, restored: known.end && isUnfinished(known.end) ? restored : undefined });
    return earlierRuns(agentId, lines);
  }

  /** Ends the run that an earlier process left open and releases its resources. Returns the lines that were added. */
  private async endLostRun(thread: Thread, lines: readonly Line[]): Promise<readonly Line[]> {
    const added = await thread.restore({ lines, recall: this.recall });
    const { uncleaned } = thread;
    if (uncleaned.length === 0) return added;
    const worktree = await this.settleLost(thread.agentId);
    const newest = uncleaned.at(-1);
    const cleaned = uncleaned.map(
      (runId): DurableEvent => ({ type: "run.cleaned", runId, worktree: runId === newest ? worktree : undefined }),
    );
    return [...added, ...(await thread.record(cleaned))];
  }
}

function endAll(all: readonly RunningSubagent[], cause: StopCause): Promise<readonly SubagentResult[]> {
  for (const { run } of all) run.stop(cause);
  return Promise.all(all.map(({ done }) => done));
}
