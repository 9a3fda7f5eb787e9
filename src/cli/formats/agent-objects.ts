import type { CacheFigures, CacheReport } from "../../app/index.ts";
import type { RunResult, Usage } from "../../protocol/index.ts";
import type { AgentView } from "../progress/agent-view.ts";
import { wireUsage } from "./wire-blocks.ts";

/** What became of each subagent, for programs. */
export function agentObjects(
  agents: readonly AgentView[],
  cache: CacheReport | undefined,
): readonly Record<string, unknown>[] {
  const figures = new Map(cache?.agents.map((one) => [one.agentId, one]));
  return agents.map((agent) => ({
    id: agent.agentId,
    type: agent.agentType,
    description: agent.description,
    parent: agent.path.at(-2) ?? "main",
    tool_use_id: agent.callId ?? null,
    background: agent.background,
    model: agent.model,
    outcome: agent.end?.outcome ?? null,
    reason: agent.end?.reason ?? null,
    ...(agent.end?.message === undefined ? {} : { message: agent.end.message }),
    turns: agent.turns,
    toolCalls: agent.toolCalls,
    usage: wireUsage(agent.usage),
    costUsd: agent.costUsd ?? null,
    denied: agent.denied,
    duration_ms: agent.end?.milliseconds ?? null,
    ...withCache(figures.get(agent.agentId)),
  }));
}

function withCache(figures: CacheFigures | undefined): { readonly cache?: object } {
  return figures ? { cache: cacheObject(figures) } : {};
}

/** What caches gave in the whole session. */
export function cacheObject({ requests, usage, idealReadTokens, baseTokens, usd }: CacheFigures): object {
  const { outputTokens: _, ...input } = usage;
  return { requests, ...input, idealReadTokens, baseTokens, ...(usd ? { usd } : {}) };
}

export interface Totals {
  /** Of what has a known price. */
  readonly costUsd: number;
  readonly isCostKnown: boolean;
  readonly modelUsage: Readonly<Record<string, ModelUsage>>;
}

interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly costUSD: number;
}

/** The run with its subagents. */
export function totalsOf({ model, usage, costUsd }: RunResult, agents: readonly AgentView[]): Totals {
  const modelUsage: Record<string, ModelUsage> = {};
  for (const part of [{ model, usage, costUsd }, ...agents]) {
    // An agent that never came to a request has no model.
    if (part.model === "") continue;
    modelUsage[part.model] = added(modelUsage[part.model], part);
  }
  const costs = [costUsd, ...agents.map((agent) => agent.costUsd)];
  return {
    costUsd: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
    isCostKnown: !costs.includes(undefined),
    modelUsage,
  };
}

function added(
  before: ModelUsage | undefined,
  { usage, costUsd }: { readonly usage: Usage; readonly costUsd: number | undefined },
): ModelUsage {
  return {
    inputTokens: (before?.inputTokens ?? 0) + usage.inputTokens,
    outputTokens: (before?.outputTokens ?? 0) + usage.outputTokens,
    cacheReadInputTokens: (before?.cacheReadInputTokens ?? 0) + usage.cacheReadTokens,
    cacheCreationInputTokens: (before?.cacheCreationInputTokens ?? 0) + usage.cacheWriteTokens,
    costUSD: (before?.costUSD ?? 0) + (costUsd ?? 0),
  };
}
