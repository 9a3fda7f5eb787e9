import { judgeAgent, listedTools, toolsText } from "../../agents/index.ts";
import { type DelegationList, delegationList } from "../../definitions/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import { type AgentDefinition, FORK_TYPE, type Rule, type Settings } from "../../protocol/index.ts";
import { delegationSpecs, offeredAgents } from "../../runs/index.ts";
import { isBackgroundOff } from "../../settings/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import type { SessionContext } from "../opening/session-context.ts";

export interface DelegationOptions {
  readonly context: SessionContext;
  readonly agents: LoadedAgents;
  readonly rules: readonly Rule[];
  readonly mayFork: boolean;
  /** True if a person is present. */
  readonly interactive: boolean;
}

/** Declares the delegation tools; none if there are neither agents to start nor forks. */
export function offerDelegation(options: DelegationOptions): readonly ToolSpec[] {
  const { context, rules, mayFork, interactive } = options;
  const { subagents = {} } = context.settings;
  const offered = taskAgents(options);
  const forks = mayFork && judgeAgent(FORK_TYPE, { rules }).effect !== "deny";
  if ((offered.length === 0 && !forks) || subagents.maxDepth === 0) return [];
  return delegationSpecs({
    list: agentList(offered),
    background: mayBackground(context),
    parallel: subagents.parallel !== false,
    forks,
    interactive,
  });
}

/** Formats the list that a model chooses an agent from, with the tools that each agent really has. */
export function agentList(agents: readonly AgentDefinition[]): DelegationList {
  return delegationList(agents, {
    toolsOf: (agent) => {
      const listed = listedTools(agent);
      return { text: toolsText(listed), count: listed.every ? undefined : listed.names.length };
    },
  });
}

/**
 * Returns the agents that Task offers. Without a person, there is no status line, so the agent that sets it up can only
 * be used by name.
 */
export function taskAgents({
  agents,
  rules,
  interactive,
}: Pick<DelegationOptions, "agents" | "rules" | "interactive">): readonly AgentDefinition[] {
  return offeredAgents(agents, { rules }).filter((agent) => interactive || !setsUpStatusLine(agent));
}

function setsUpStatusLine({ source, name }: AgentDefinition): boolean {
  return source === "built-in" && name === "statusline-setup";
}

/**
 * Returns whether agents may run in the background. If not, agents run in the foreground even if their definition asks
 * for the background.
 */
export function mayBackground({ settings, environment }: SessionContext): boolean {
  return settings.subagents?.background !== false && !isBackgroundOff(environment);
}

interface ForkOptions {
  /** True if a person is present. */
  readonly interactive: boolean;
  /** True if the main agent only delegates, so it knows only what its subagents report. */
  readonly coordinator: boolean;
}

/** Returns whether agents may start forks of themselves. */
export function mayFork({ fork = "auto" }: Settings, { interactive, coordinator }: ForkOptions): boolean {
  if (coordinator) return false;
  return fork === "auto" ? interactive : fork === "on";
}
