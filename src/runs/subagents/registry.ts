import { matchPrefix } from "../../lib/index.ts";
import type { Journal } from "../../ports/index.ts";
import { type AgentId, type KeptWorktree, MAIN_AGENT, type Notice, type RunId } from "../../protocol/index.ts";
import type { BudgetSpent } from "../budget/budget.ts";
import { spentOf } from "../budget/spent-of.ts";
import type { EndedRun } from "../host/run-host.ts";
import { Thread } from "../thread/thread.ts";
import { type AgentRecord, aftermathIn, endedRun, endIn, isCleaned, lostRun, recordOf } from "./agent-record.ts";
import type { Member } from "./member.ts";

/** What an agent left whose process was lost. Never rejects. */
export type SettleLost = (agentId: AgentId) => Promise<KeptWorktree | undefined>;

/** Who belongs to a session, the oldest first, and how each ended: a fold of transcripts, but for the live runs. */
export class Registry {
  private readonly journal: Journal;
  private readonly members = new Map<AgentId, Member>();
  private readonly settleLost: SettleLost;
  private loading: Promise<void> | undefined;

  constructor(journal: Journal, settleLost: SettleLost) {
    this.journal = journal;
    this.settleLost = settleLost;
  }

  add(record: AgentRecord): Member {
    const member: Member = { record, running: undefined };
    this.members.set(record.agentId, member);
    return member;
  }

  /** Without a look at the transcripts of earlier processes: enough for whoever runs now. */
  present(agentId: AgentId): Member | undefined {
    return this.members.get(agentId);
  }

  /** Who works now; below an agent, or everywhere. */
  working(above: AgentId = MAIN_AGENT): readonly Member[] {
    const all = [...this.members.values()].filter(({ running }) => running !== undefined);
    return above === MAIN_AGENT ? all : all.filter(({ record }) => this.pathTo(record).includes(above));
  }

  async member(agentId: AgentId): Promise<Member | undefined> {
    if (!this.members.has(agentId)) await this.load();
    return this.members.get(agentId);
  }

  /** Those that this agent, or one of its own, has started. */
  async records(above: AgentId = MAIN_AGENT): Promise<readonly AgentRecord[]> {
    await this.load();
    const all = [...this.members.values()].map(({ record }) => record);
    if (above === MAIN_AGENT) return all;
    return all.filter((record) => this.pathTo(record).slice(0, -1).includes(above));
  }

  /** By name, id or the beginning of an id that only one has. */
  async find(reference: string, above?: AgentId): Promise<AgentRecord | undefined> {
    const records = await this.records(above);
    const named = records.filter(({ name }) => name === reference);
    // A name can be given again when who had it has ended: who works now is meant, or the newest.
    const meant = named.findLast(({ agentId }) => this.members.get(agentId)?.running) ?? named.at(-1);
    if (meant) return meant;
    const ids = records.map(({ agentId }) => agentId);
    const match = matchPrefix(ids, reference);
    return match.kind === "one" ? records.find(({ agentId }) => agentId === match.id) : undefined;
  }

  /** By this agent and all below it, in all their runs. */
  async spent(agentId: AgentId): Promise<BudgetSpent> {
    const below = await this.records(agentId);
    const all = [agentId, ...below.map((record) => record.agentId)];
    return spentOf(await Promise.all(all.map((each) => this.journal.read(each))));
  }

  /** From the main agent's child down to this one. */
  pathTo({ agentId, parent }: AgentRecord): readonly AgentId[] {
    const above = this.members.get(parent)?.record;
    return above ? [...this.pathTo(above), agentId] : [agentId];
  }

  /** Undefined: it still runs. */
  async endOfRun({ agentId, runId }: Notice): Promise<EndedRun | undefined> {
    const member = await this.member(agentId);
    // Nobody may wait for what nobody knows of.
    if (member === undefined) return lostRun({ agentId, runId });
    const { record, running } = member;
    if (record.runId === runId && (record.end || running)) return record.end && endedRun(record, record.end);
    const lines = await this.journal.read(agentId);
    const end = endIn(lines, runId);
    if (end === undefined) return lostRun({ agentId, runId });
    const { worktree: _, ...rest } = record;
    return endedRun({ ...rest, ...aftermathIn(lines, runId) }, end);
  }

  /** Agents of earlier processes: what their transcripts say. */
  private load(): Promise<void> {
    this.loading ??= this.readAgents();
    return this.loading;
  }

  private async readAgents(): Promise<void> {
    const { journal } = this;
    for (const agentId of await journal.agents()) {
      if (this.members.has(agentId)) continue;
      const path = journal.output(agentId)?.path;
      const lines = await journal.read(agentId);
      let record = recordOf(lines, path);
      if (record?.end === undefined || !isCleaned(lines, record.runId)) {
        await this.recover(agentId);
        record = recordOf(await journal.read(agentId), path);
      }
      if (record !== undefined) this.add(record);
    }
  }

  /** Ends the run that its process left open, and lets go of what was made for it. */
  private async recover(agentId: AgentId): Promise<void> {
    const thread = new Thread(agentId, this.journal);
    await thread.restore();
    const { uncleaned } = thread;
    if (uncleaned.length === 0) return;
    const worktree = await this.settleLost(agentId);
    const newest = uncleaned.at(-1);
    const left = (runId: RunId) => (worktree && runId === newest ? { worktree } : {});
    await thread.record(uncleaned.map((runId) => ({ type: "run.cleaned", runId, ...left(runId) })));
  }
}
