import { type AgentMemory, judgeAgent, type ResolvedAgent } from "../../agents/index.ts";
import { nearest } from "../../lib/index.ts";
import {
  type AgentDefinition,
  canonicalToolName,
  type DurableEvent,
  FORK_TYPE,
  type Head,
  type Policy,
  type Rule,
  type RunResult,
} from "../../protocol/index.ts";

/** The agents in a session to which work can be delegated. */
export interface AvailableAgents {
  readonly definitions: readonly AgentDefinition[];
  /** Finds an agent by its name or an alias, and opens its memory. */
  find(name: string): Promise<AvailableAgent | undefined>;
  /** Returns the most similar names, best match first; at most ten by default. */
  nearest(name: string, max?: number): readonly string[];
}

/** An agent that can be started: its definition, with additions from files and the embedding program. */
export interface AvailableAgent {
  readonly definition: AgentDefinition;
  /** Returns the system prompt for an agent in this directory. Throws if a user-supplied prompt function fails. */
  prompt(cwd: string): string;
  /** Skills that the definition names. They are part of the agent's prompt. */
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
  /** Existing directories that the agent may read in addition to the workspace, symlinks resolved. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
  /**
   * Runs the embedding program's callback after a run. Returns the events to record in the agent's transcript. Never
   * rejects.
   */
  readonly followUp?: ((result: RunResult) => Promise<readonly DurableEvent[]>) | undefined;
}

/** Returns the agents that a model can start: those that are not hidden and not denied by a rule. */
export function offeredAgents(
  { definitions }: Pick<AvailableAgents, "definitions">,
  policy: Pick<Policy, "rules" | "layers">,
): readonly AgentDefinition[] {
  return definitions.filter(({ name, hidden }) => !hidden && judgeAgent(name, policy).effect !== "deny");
}

/**
 * Returns the policy without the rules by which a program or a definition takes Task away from the main agent. The
 * program may still start agents itself. Rules in settings apply to both.
 */
export function policyForProgram<Given extends Pick<Policy, "rules" | "layers">>(policy: Given): Given {
  const keeps = ({ text, effect }: Rule): boolean => effect !== "deny" || canonicalToolName(text.trim()) !== "Task";
  return {
    ...policy,
    rules: policy.rules.filter((rule) => rule.scope !== "flag" || keeps(rule)),
    layers: policy.layers?.map((layer) => ({ ...layer, rules: layer.rules.filter(keeps) })),
  };
}

/** Returns an error text for an unknown agent type. Names the types that the caller can start, most similar first. */
export function unknownAgentType(
  agentType: string,
  { agents, offered: all }: { readonly agents: AvailableAgents; readonly offered: () => readonly string[] },
  caller: ResolvedAgent,
): string {
  const offered = offeredTo(caller, all());
  const similar = agents.nearest(agentType, agents.definitions.length).filter((name) => offered.includes(name));
  const [first] = nearest(agentType, similar);
  const guess = first === undefined ? "" : ` Did you mean ${first}?`;
  return `There is no agent "${agentType}".${guess} ${listTypes([...new Set([...similar, ...offered])])}`;
}

/** Returns at most ten agent types as text, and how many others there are. */
export function listTypes(types: readonly string[]): string {
  const more = types.length > MOST_LISTED ? ` and ${types.length - MOST_LISTED} more` : "";
  return `Available agents: ${types.slice(0, MOST_LISTED).join(", ")}${more}.`;
}

const MOST_LISTED = 10;

/** Returns the agent types that an agent can start, including forks if its Task tool lists them. */
export function offeredTo({ head, policy }: ResolvedAgent, all: readonly string[]): readonly string[] {
  const forks = declaredTypes(head)?.includes(FORK_TYPE) ? [FORK_TYPE] : [];
  return [...all, ...forks].filter((name) => judgeAgent(name, policy).effect !== "deny");
}

/** Returns the agent types that the head's Task tool lists. Undefined if the tool has no such list. */
export function declaredTypes({ tools }: Head): readonly string[] | undefined {
  const schema = tools.find(({ name }) => name === "Task")?.inputSchema as TaskSchema | undefined;
  return schema?.properties?.subagent_type?.enum;
}

interface TaskSchema {
  readonly properties?: { readonly subagent_type?: { readonly enum?: readonly string[] } };
}
