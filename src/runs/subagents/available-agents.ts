import { type AgentMemory, judgeAgent, type ResolvedAgent } from "../../agents/index.ts";
import { nearest } from "../../lib/index.ts";
import type { AgentDefinition, DurableEvent, Head, Policy, RunResult } from "../../protocol/index.ts";

/** The agents of a session that work can be delegated to. */
export interface AvailableAgents {
  readonly definitions: readonly AgentDefinition[];
  /** Finds an agent by its name or an alias. */
  find(name: string): AvailableAgent | undefined;
  /** Returns the most similar names, best first; ten by default. */
  nearest(name: string, max?: number): readonly string[];
}

/** An agent that can be started: its definition and everything that files and the program give to it. */
export interface AvailableAgent {
  readonly definition: AgentDefinition;
  /** Returns the system prompt for an agent in this directory. Throws if a user-supplied prompt function fails. */
  prompt(cwd: string): string;
  /** Skills that its definition names; they are part of its prompt. */
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
  /** Directories that it may read in addition to the workspace. They exist, and symlinks are resolved. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
  /** Runs the program's callback after a run. Returns the events that its transcript has to record. Never rejects. */
  readonly followUp?: ((result: RunResult) => Promise<readonly DurableEvent[]>) | undefined;
}

/** Returns the agents that a model can start: they are not hidden, and no rule denies them. */
export function offeredAgents(
  { definitions }: Pick<AvailableAgents, "definitions">,
  policy: Pick<Policy, "rules" | "layers">,
): readonly AgentDefinition[] {
  return definitions.filter(({ name, hidden }) => !hidden && judgeAgent(name, policy).effect !== "deny");
}

/** Says that there is no such agent, and names those that the caller's Task tool offers, the most similar first. */
export function unknownAgentType(agentType: string, agents: AvailableAgents, caller: ResolvedAgent): string {
  const all = offeredAgents(agents, caller.policy).map(({ name }) => name);
  const offered = offeredTo(caller, all);
  const similar = agents.nearest(agentType, agents.definitions.length).filter((name) => offered.includes(name));
  const [first] = nearest(agentType, similar);
  const guess = first === undefined ? "" : ` Did you mean ${first}?`;
  return `There is no agent "${agentType}".${guess} ${listTypes([...new Set([...similar, ...offered])])}`;
}

/** Lists at most ten agent types. */
export function listTypes(types: readonly string[]): string {
  const more = types.length > MOST_LISTED ? ` and ${types.length - MOST_LISTED} more` : "";
  return `Available agents: ${types.slice(0, MOST_LISTED).join(", ")}${more}.`;
}

const MOST_LISTED = 10;

/** Returns the agent types that an agent can start: those that its Task tool enumerates, or `all` if they are too many. */
export function offeredTo({ head, policy }: ResolvedAgent, all: readonly string[]): readonly string[] {
  return (declaredTypes(head) ?? all).filter((name) => judgeAgent(name, policy).effect !== "deny");
}

/** Returns the agent types that the Task tool of a head enumerates; undefined if it has no such list. */
export function declaredTypes({ tools }: Head): readonly string[] | undefined {
  const schema = tools.find(({ name }) => name === "Task")?.inputSchema as TaskSchema | undefined;
  return schema?.properties?.subagent_type?.enum;
}

interface TaskSchema {
  readonly properties?: { readonly subagent_type?: { readonly enum?: readonly string[] } };
}
