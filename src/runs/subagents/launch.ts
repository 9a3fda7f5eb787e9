import { recordPolicy } from "../../agents/index.ts";
import { createDeferred } from "../../lib/index.ts";
import type { Journal } from "../../ports/index.ts";
import { type DurableEvent, MAIN_AGENT, type PromptId, type RunResult, type RunUpdate } from "../../protocol/index.ts";
import type { BudgetSpent } from "../budget/budget.ts";
import type { Acceptance, LiveAgent, Retinue, RunServices } from "../host/run-host.ts";
import { startRun } from "../host/start-run.ts";
import type { Thread } from "../thread/thread.ts";
import { createAgentOutput, isReported } from "./agent-output.ts";
import type { PreparedAgent } from "./prepared-agent.ts";
import type { Registry } from "./registry.ts";
import { resultOf, type Subagent, type SubagentResult, specOf } from "./subagent.ts";

/** Services that all runs of a session share. */
export type SharedServices = Omit<RunServices, "model" | "executor" | "cwd" | "budget" | "limits" | "retinue">;

export interface LaunchOptions {
  readonly prepared: PreparedAgent;
  readonly thread: Thread;
  /** Text blocks of the first message. */
  readonly prompt: readonly string[];
  /** Id of the prompt, if a user or a program sent it instead of the parent. */
  readonly promptId?: PromptId | undefined;
  /** Amounts that the subagent spent in earlier runs, if it has its own budget. */
  readonly spent?: BudgetSpent | undefined;
  readonly parent: LiveAgent;
  readonly shared: SharedServices;
  readonly retinue: Retinue;
  readonly registry: Registry;
  readonly journal: Journal;
}

/**
 * Starts a subagent's run and keeps its record up to date. The record shows the run as ended only when all of the run's
 * resources are released.
 */
export function launch(subagent: Subagent, options: LaunchOptions): void {
  const { prepared, thread, prompt, promptId, parent, shared, retinue, registry, journal } = options;
  const { agent, model, executor, cwd, limits, background, tools, notices } = prepared;
  const { agentId, agentType, runId } = subagent;
  const output = createAgentOutput(journal, { agentId, background });
  const policy = recordPolicy(agent.policy);
  const { requestedModel: requested } = agent;
  Object.assign(subagent, {
    policy,
    inBackground: background,
    acceptance: prepared.acceptance,
    outputSchema: prepared.output?.schema,
    model: requested ?? undefined,
  });
  const path = registry.pathTo(subagent);
  const updates = shared.agentUpdates ?? "all";
  const onUpdate = (update: RunUpdate): void => {
    if ("id" in update) output.follow(update);
    if (update.type === "subagent.event" || !isReported(update, updates)) return;
    registry.live.get(MAIN_AGENT)?.emit({ type: "subagent.event", agentId, agentType, path, event: update });
  };
  const budget = parent.services.budget.child(prepared.budget, agentType);
  if (options.spent) budget.restore(options.spent);
  const hooks = prepared.hooks ?? shared.hooks;
  const services = { ...shared, cwd, model, executor, budget, limits, hooks, retinue };
  const run = startRun(services, thread, {
    runId,
    agent,
    prompt: prompt.filter((text) => text !== "").map((text) => ({ type: "text", text })),
    promptId,
    from: promptId === undefined ? "agent" : "person",
    waits: true,
    acceptance: acceptanceOf(prepared, parent),
    output: prepared.output,
    subagent: { spec: specOf(subagent), background, path, tools, policy, notices, onUpdate },
  });
  const done = run.result.then(async (end): Promise<SubagentResult> => {
    const worktree = await cleanUp(end, options, onUpdate);
    Object.assign(subagent, { worktree, end, running: undefined });
    return resultOf(subagent, end);
  });
  subagent.running = { run, done, background, output, detached: createDeferred<void>() };
}

/** Releases an ended run's resources. Returns the worktree if it must be kept. */
async function cleanUp(
  result: RunResult,
  { prepared, thread }: LaunchOptions,
  onUpdate: (update: RunUpdate) => void,
): Promise<Subagent["worktree"]> {
  // The result is valid even if the event can't be written.
  const record = async (event: DurableEvent): Promise<void> => {
    for (const line of await thread.record([event]).catch(() => [])) onUpdate(line);
  };
  await prepared.executor.release(thread.agentId).catch(() => undefined);
  for (const event of (await prepared.followUp?.(result)) ?? []) await record(event);
  const worktree = await prepared.release().catch(() => undefined);
  await record({ type: "run.cleaned", runId: result.runId, worktree });
  return worktree;
}

/**
 * Returns the acceptance check for a subagent. The command runs with the agent's permissions, and with Bash if the
 * parent has it.
 */
function acceptanceOf({ acceptance, agent }: PreparedAgent, parent: LiveAgent): Acceptance | undefined {
  if (acceptance === undefined) return undefined;
  const { policy } = agent;
  const { pool } = parent.agent.childPolicy ?? parent.agent.policy;
  const shell = pool.includes("Bash") ? ["Bash"] : [];
  return { commands: [acceptance], policy: { ...policy, pool: [...new Set([...policy.pool, ...shell])] } };
}
