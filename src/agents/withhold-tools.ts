import {
  type AgentDefinition,
  backgroundTools,
  type Policy,
  type RecordedPolicy,
  type ToolDeclaration,
} from "../protocol/index.ts";
import { readToolEntry } from "./tool-entry.ts";

/** Where a subagent stands, as far as that decides which tools it can have. */
export interface Tier {
  readonly background: boolean;
  /** The main agent's children have depth 1. */
  readonly depth: number;
  /** How deep agents may be that delegate no further. */
  readonly maxDepth: number;
  readonly mcpTools: "always" | "foreground" | "never";
  readonly allowQuestions: boolean;
  /** It takes messages by its name. */
  readonly named: boolean;
  /** What agents that are not built in lack beside what all lack. */
  readonly blockedTools?: readonly string[] | undefined;
}

export interface WithheldTool {
  readonly tool: string;
  readonly why: string;
}

export interface Standing {
  readonly superior: Policy;
  readonly tier: Tier;
  readonly definition: AgentDefinition;
  /** They come with the definition (its own MCP servers), so they are not its superior's to give. */
  readonly ownTools?: readonly string[] | undefined;
  /** What it was allowed when it ran before. */
  readonly before?: RecordedPolicy | undefined;
}

/** In order: MCP, what is always blocked, what is blocked for agents of files, the list for the background, the superior's pool, what it had. */
export function withholdTools(
  tools: readonly ToolDeclaration[],
  standing: Standing,
): { readonly granted: readonly ToolDeclaration[]; readonly withheld: readonly WithheldTool[] } {
  const granted: ToolDeclaration[] = [];
  const withheld: WithheldTool[] = [];
  for (const tool of tools) {
    const why = whyNot(tool.name, standing);
    if (why === undefined) granted.push(tool);
    else withheld.push({ tool: tool.name, why });
  }
  return { granted, withheld };
}

function whyNot(tool: string, { superior, tier, definition, ownTools = [], before }: Standing): string | undefined {
  const isMcp = tool.startsWith("mcp__");
  if (isMcp && (tier.mcpTools === "never" || (tier.mcpTools === "foreground" && tier.background)))
    return `subagents.mcpTools is "${tier.mcpTools}"`;
  const blocked = blockedFor(tool, tier);
  if (blocked !== undefined) return blocked;
  const { blockedTools = [] } = tier;
  if (definition.source !== "built-in" && blockedTools.some((text) => readToolEntry(text).covers(tool)))
    return "subagents.blockedTools names it";
  const takesMessages = tool === "SendMessage" && tier.named;
  if (tier.background && !isMcp && !backgroundTools.has(tool) && !takesMessages)
    return "agents in the background do not have it";
  if (!superior.pool.includes(tool) && !ownTools.includes(tool)) return "the agent it works for does not have it";
  if (before !== undefined && !before.pool.includes(tool)) return "it did not have it when it ran before";
  return undefined;
}

/** What no subagent has unless its place says otherwise: tools that steer the session, ask its person, reach other agents. */
function blockedFor(tool: string, tier: Tier): string | undefined {
  const mayDelegate = tier.depth < tier.maxDepth;
  switch (tool) {
    case "EnterPlanMode":
    case "ExitPlanMode":
      return "no subagent has it";
    case "AskUserQuestion":
      if (tier.allowQuestions && !tier.background) return undefined;
      return tier.allowQuestions ? "agents in the background ask nobody" : "subagents ask nobody";
    case "Task":
    case "TaskOutput":
    case "TaskStop":
      return mayDelegate ? undefined : `delegation ends here (subagents.maxDepth is ${tier.maxDepth})`;
    case "SendMessage":
      // A message to an agent that has ended starts it again, which is delegation.
      return mayDelegate || tier.named ? undefined : "only agents that were given a name have it";
    default:
      return undefined;
  }
}
