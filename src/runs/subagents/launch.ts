import { recordPolicy } from "../../agents/index.ts";
import { createDeferred } from "../../lib/index.ts";
import type { Journal } from "../../ports/index.ts";
import { type AgentId, MAIN_AGENT, type RunUpdate } from "../../protocol/index.ts";
import type { BudgetSpent } from "../budget/budget.ts";
import type { LiveAgent, Retinue, RunRequest, RunServices, SubagentRequest } from "../host/run-host.ts";
import { startRun } from "../host/start-run.ts";
import type { Thread } from "../thread/thread.ts";
import { settleRun } from "./aftermath.ts";
import { type AgentOutput, createAgentOutput } from "./agent-output.ts";
import { endedRun } from "./agent-record.ts";
import { isTold } from "./agent-updates.ts";
import type { ReadyAgent } from "./agent-wish.ts";
import type { Member } from "./member.ts";

/** What all runs of a session have in common. */
export type SharedServices = Omit<RunServices, "model" | "hands" | "cwd" | "budget" | "limits" | "retinue">;

export interface Launching {
  readonly prepared: ReadyAgent;
  readonly thread: Thread;
  /** What it is told, in a block each. */
  readonly prompt: readonly string[];
  /** In its earlier runs, of the limits of its own. */
  readonly spent?: BudgetSpent;
  readonly parent: LiveAgent;
  /** From the main agent's child down to this one. */
  readonly path: readonly AgentId[];
  readonly shared: SharedServices;
  readonly retinue: Retinue & { readonly live: ReadonlyMap<AgentId, LiveAgent> };
  readonly journal: Journal;
}

/** Starts a prepared agent. Its record follows it: it runs from here on, and has an end once everything is let go. */
export function launch(member: Member, launching: Launching): void {
  const { prepared, thread, prompt, parent, path, shared, retinue, journal } = launching;
  const { agent, model, hands, cwd, limits, background, tools, notices } = prepared;
  const { agentId, agentType, runId } = member.record;
  const output = createAgentOutput(journal, { agentId, background });
  const policy = recordPolicy(agent.policy);
  member.record = { ...member.record, policy, ...outputOf(output) };
  const wanted = shared.agentUpdates ?? "all";
  const onUpdate = (update: RunUpdate): void => {
    if ("id" in update) output.follow(update);
    if (update.type === "subagent.event" || !isTold(update, wanted)) return;
    retinue.live.get(MAIN_AGENT)?.emit({ type: "subagent.event", agentId, agentType, path, event: update });
  };
  const budget = parent.services.budget.child(prepared.budget, agentType);
  if (launching.spent) budget.restore(launching.spent);
  const hooks = prepared.hooks ?? shared.hooks;
  const services = { ...shared, cwd, model, hands, budget, limits, hooks, retinue };
  const run = startRun(services, thread, {
    runId,
    agent,
    prompt: prompt.filter((text) => text !== "").map((text) => ({ type: "text", text })),
    waits: true,
    ...acceptanceOf(prepared, parent),
    subagent: { birth: birthOf(member), background, path, tools, policy, notices, onUpdate },
  });
  const done = run.result.then(async (result) => {
    const { end, ...aftermath } = await settleRun(result, { agentId, prepared, thread, onUpdate });
    member.record = { ...member.record, ...aftermath, ...outputOf(output), end };
    member.running = undefined;
    return endedRun(member.record, end);
  });
  member.running = { run, done, background, output, detached: createDeferred<void>() };
}

function outputOf({ path }: AgentOutput): { readonly outputFile?: string } {
  return path === undefined ? {} : { outputFile: path };
}

/** The host's own look at the work, with what the agent may do; it needs a shell only if its superior has one. */
function acceptanceOf(
  { acceptance, agent: { policy } }: ReadyAgent,
  parent: LiveAgent,
): Pick<RunRequest, "acceptance"> {
  if (acceptance === undefined) return {};
  const { pool } = parent.agent.lends ?? parent.agent.policy;
  const shell = pool.includes("Bash") ? ["Bash"] : [];
  return {
    acceptance: { commands: [acceptance], policy: { ...policy, pool: [...new Set([...policy.pool, ...shell])] } },
  };
}

function birthOf({ record }: Member): SubagentRequest["birth"] {
  const { agentId, agentType, description, name, isolation, fork, parent, callId, depth } = record;
  const called = { ...(name === undefined ? {} : { name }), ...(isolation === undefined ? {} : { isolation }) };
  const forked = fork === undefined ? {} : { fork };
  return { agentId, agentType, description, ...called, ...forked, parent: { agentId: parent, callId }, depth };
}
