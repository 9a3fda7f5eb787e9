import { type AgentDefinition, backgroundTools, type Policy, type ToolDeclaration } from "../protocol/index.ts";

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
}

export interface WithheldTool {
  readonly tool: string;
  readonly why: string;
}

/** What no subagent has: they steer the session, speak to its person, or reach for other agents. */
const never: ReadonlySet<string> = new Set([
  "Task",
  "EnterPlanMode",
  "ExitPlanMode",
  "AskUserQuestion",
  "TaskStop",
  "TaskOutput",
  "SendMessage",
]);
const delegating: ReadonlySet<string> = new Set(["Task", "TaskOutput", "TaskStop", "SendMessage"]);

/** In order: the superior's pool, MCP, what is always blocked, the list for the background. */
export function withholdTools(
  tools: readonly ToolDeclaration[],
  {
    superior,
    tier,
    definition,
  }: { readonly superior: Policy; readonly tier: Tier; readonly definition: AgentDefinition },
): { readonly granted: readonly ToolDeclaration[]; readonly withheld: readonly WithheldTool[] } {
  const granted: ToolDeclaration[] = [];
  const withheld: WithheldTool[] = [];
  for (const tool of tools) {
    const why = whyNot(tool.name, { superior, tier, definition });
    if (why === undefined) granted.push(tool);
    else withheld.push({ tool: tool.name, why });
  }
  return { granted, withheld };
}

function whyNot(
  tool: string,
  {
    superior,
    tier,
    definition,
  }: { readonly superior: Policy; readonly tier: Tier; readonly definition: AgentDefinition },
): string | undefined {
  const isMcp = tool.startsWith("mcp__");
  if (isMcp && definition.source === "built-in" && definition.tools !== undefined)
    return "built-in agents that only look have no MCP tools";
  if (isMcp && (tier.mcpTools === "never" || (tier.mcpTools === "foreground" && tier.background)))
    return `subagents.mcpTools is ${tier.mcpTools}`;
  if (!superior.pool.includes(tool)) return "the agent it works for does not have it";
  const mayDelegate = delegating.has(tool) && tier.depth < tier.maxDepth;
  const mayAsk = tool === "AskUserQuestion" && tier.allowQuestions && !tier.background;
  const mayMessage = tool === "SendMessage" && tier.named;
  if (never.has(tool) && !mayDelegate && !mayAsk && !mayMessage) return "no subagent has it";
  if (tier.background && !isMcp && !backgroundTools.has(tool) && !mayMessage)
    return "agents in the background do not have it";
  return undefined;
}
