import { declareTool, judgeAgent, listedTools, type ResolvedAgent, toolsText } from "../../agents/index.ts";
import { type DelegationList, delegationList } from "../../definitions/index.ts";
import type { ToolSpec } from "../../ports/index.ts";
import {
  type AgentDefinition,
  FORK_TYPE,
  type Policy,
  type Settings,
  type ToolDeclaration,
} from "../../protocol/index.ts";
import { delegationSpecs, foregroundMs, offeredAgents } from "../../runs/index.ts";
import { isBackgroundOff } from "../../settings/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import type { SessionContext } from "../opening/session-context.ts";

export interface DelegationOptions {
  readonly context: SessionContext;
  readonly agents: LoadedAgents;
  /** Rules of the agent that delegates. */
  readonly policy: Pick<Policy, "rules" | "layers">;
  readonly mayFork: boolean;
  /** True if a person is present. */
  readonly interactive: boolean;
}

/** Declares the delegation tools; none if there are neither agents to start nor forks. */
export function offerDelegation(options: DelegationOptions): readonly ToolSpec[] {
  const { context, policy, mayFork, interactive } = options;
  const { subagents = {} } = context.settings;
  const offered = taskAgents(options);
  const forks = mayFork && judgeAgent(FORK_TYPE, policy).effect !== "deny";
  if ((offered.length === 0 && !forks) || subagents.maxDepth === 0) return [];
  return delegationSpecs({
    list: agentList(offered),
    background: mayBackground(context),
    parallel: subagents.parallel !== false,
    forks,
    interactive,
    questions: subagents.allowQuestions === "foreground",
    nested: (subagents.maxDepth ?? 1) > 1,
    foregroundMs: foregroundMs(context.settings),
  });
}

/** Formats the list that a model chooses an agent from, with the tools that each agent really has. */
export function agentList(agents: readonly AgentDefinition[]): DelegationList {
  return delegationList(agents, {
    toolsOf: (agent) => {
      const known = toolsByAgent.get(agent) ?? describeTools(agent);
      toolsByAgent.set(agent, known);
      return known;
    },
  });
}

const toolsByAgent = new WeakMap<AgentDefinition, ReturnType<typeof describeTools>>();

function describeTools(agent: AgentDefinition) {
  const listed = listedTools(agent);
  return { text: toolsText(listed), count: listed.every ? undefined : listed.names.length };
}

/**
 * Returns the agents that Task offers. Without a person, there is no status line, so the agent that sets it up can only
 * be used by name.
 */
export function taskAgents({
  agents,
  policy,
  interactive,
}: Pick<DelegationOptions, "agents" | "policy" | "interactive">): readonly AgentDefinition[] {
  return offeredAgents(agents, policy).filter((agent) => interactive || !setsUpStatusLine(agent));
}

/**
 * Returns the declaration of Task, which lists the agents that can be started: all that the session's rules leave, or
 * those that an agent with this policy may start.
 */
export type TaskToolOf = (policy?: Policy) => ToolDeclaration | undefined;

/** Returns the agent with a Task tool that lists the agents that it may start now. */
export function withTaskTool(agent: ResolvedAgent, taskToolOf: TaskToolOf): ResolvedAgent {
  const { head, policy } = agent;
  const before = head.tools.find(({ name }) => name === "Task");
  const task = before && taskToolOf(policy);
  const now = task && declareTool(task, policy.pool);
  if (!now || JSON.stringify(before) === JSON.stringify(now)) return agent;
  return { ...agent, head: { ...head, tools: head.tools.map((tool) => (tool === before ? now : tool)) } };
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
