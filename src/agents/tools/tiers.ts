import {
  type AgentDefinition,
  backgroundTools,
  type Policy,
  type RecordedPolicy,
  type Rule,
  type SubagentSettings,
  type ToolDeclaration,
  type ToolReport,
  toolNames,
} from "../../protocol/index.ts";
import type { AbsentTool } from "./resolve-tools.ts";
import { denialOf, idleTools, WITHOUT_TASK } from "./select-tools.ts";
import { isEnforceable, readToolEntry } from "./tool-entry.ts";

/** Properties of a subagent that decide which tools it can have. */
export interface Tier {
  readonly background: boolean;
  /** Depth in the tree of agents. The main agent's children have depth 1. */
  readonly depth: number;
  /** Maximum depth of delegation. Agents at this depth can't delegate. */
  readonly maxDepth: number;
  readonly mcpTools: "always" | "foreground" | "never";
  readonly allowQuestions: boolean;
  /** Whether the agent has a name, so that others can message it by name. */
  readonly named: boolean;
  /** Tools that only built-in subagents can have. */
  readonly blockedTools?: readonly string[] | undefined;
}

/** Returns the tier of a subagent in a session with these settings. */
export function tierIn(
  { maxDepth = 1, mcpTools = "always", allowQuestions, blockedTools }: SubagentSettings,
  agent: Pick<Tier, "background" | "depth" | "named">,
): Tier {
  return { ...agent, maxDepth, mcpTools, allowQuestions: allowQuestions === "foreground", blockedTools };
}

export interface WithheldTool {
  readonly tool: string;
  readonly why: string;
}

export interface TierContext {
  readonly parentPolicy: Policy;
  readonly tier: Tier;
  readonly definition: AgentDefinition;
  /** Tools of the definition's own MCP servers. The parent need not have these tools. */
  readonly ownTools?: readonly string[] | undefined;
  /** Policy of the agent's last run. Set only for a resumed agent. */
  readonly before?: RecordedPolicy | undefined;
}

/**
 * Splits tools into those that a subagent can have and those that it can't. A withheld tool gets the first reason that
 * applies, in this order: MCP settings, tools blocked for subagents, `subagents.blockedTools`, the background list, the
 * parent's pool, the pool of the last run.
 */
export function withholdTools(
  tools: readonly ToolDeclaration[],
  context: TierContext,
): { readonly granted: readonly ToolDeclaration[]; readonly withheld: readonly WithheldTool[] } {
  const granted: ToolDeclaration[] = [];
  const withheld: WithheldTool[] = [];
  for (const tool of tools) {
    const why = whyNot(tool.name, context);
    if (why === undefined) granted.push(tool);
    else withheld.push({ tool: tool.name, why });
  }
  return { granted, withheld };
}

function whyNot(
  tool: string,
  { parentPolicy, tier, definition, ownTools = [], before }: TierContext,
): string | undefined {
  const isMcp = tool.startsWith("mcp__");
  if (isMcp && (tier.mcpTools === "never" || (tier.mcpTools === "foreground" && tier.background)))
    return `subagents.mcpTools is "${tier.mcpTools}"`;
  const blocked = blockedFor(tool, tier);
  if (blocked !== undefined) return blocked;
  const { blockedTools = [] } = tier;
  if (definition.source !== "built-in" && blockedTools.some((text) => readToolEntry(text).isAbout(tool)))
    return "subagents.blockedTools lists it";
  const takesMessages = tool === "SendMessage" && tier.named;
  if (tier.background && toolNames.includes(tool) && !backgroundTools.has(tool) && !takesMessages)
    return "background agents can't use it";
  if (!parentPolicy.pool.includes(tool) && !ownTools.includes(tool)) return "its parent does not have it";
  if (before !== undefined && !before.pool.includes(tool)) return "the agent did not have it in its previous run";
  return undefined;
}

/**
 * Returns the reason why a tool is blocked. Tools that control the session, ask the user or reach other agents are
 * blocked unless the tier permits them.
 */
function blockedFor(tool: string, tier: Tier): string | undefined {
  const mayDelegate = tier.depth < tier.maxDepth;
  switch (tool) {
    case "EnterPlanMode":
    case "ExitPlanMode":
      return "subagents can't use it";
    case "AskUserQuestion":
      if (tier.allowQuestions && !tier.background) return undefined;
      return tier.allowQuestions ? "background agents can't ask the user" : "subagents can't ask the user";
    case "Task":
    case "TaskOutput":
    case "TaskStop":
      return mayDelegate ? undefined : `agents at this depth can't delegate (subagents.maxDepth is ${tier.maxDepth})`;
    case "SendMessage":
      // A message to a finished agent resumes the agent, which is delegation.
      return mayDelegate || tier.named ? undefined : "only agents with a name have it";
    default:
      return undefined;
  }
}

export interface ToolSearch {
  /** Canonical names of all tools that any agent in the session can have. */
  readonly declared: readonly string[];
  /** Tools that are withheld because of the agent's tier. */
  readonly withheld: readonly WithheldTool[];
  readonly absent: readonly AbsentTool[];
  readonly rules: readonly Rule[];
  readonly report: ToolReport;
}

/**
 * Lists the tools that a definition requests and does not get, each with one reason. A definition without a list
 * requests all tools.
 */
export function missingTools(definition: AgentDefinition, search: ToolSearch): readonly WithheldTool[] {
  const { declared, withheld, absent, rules, report } = search;
  const listed = (definition.tools ?? ["*"]).map(readToolEntry);
  const disallowed = (definition.disallowedTools ?? []).map(readToolEntry);
  const whyLacking = (tool: string): string => {
    const byTier = withheld.find((each) => each.tool === tool);
    if (byTier !== undefined) return byTier.why;
    const denial = denialOf(tool, rules);
    if (denial !== undefined) return `the ${denial.scope} rule ${denial.text} denies it`;
    if (disallowed.some(({ isAbout, hasSpecifier }) => isAbout(tool) && !hasSpecifier))
      return "its definition disallows it";
    if (idleTools([...report.resolvedTools, tool], { named: false }).includes(tool)) return WITHOUT_TASK;
    const covering = listed.filter(({ covers }) => covers(tool));
    if (covering.some(isEnforceable)) return "the permission rules in its definition deny it";
    return `the specifier can't be evaluated: ${covering.map(({ text }) => text).join(", ")}`;
  };
  const lacking = declared.filter(
    (tool) => !report.resolvedTools.includes(tool) && listed.some(({ covers }) => covers(tool)),
  );
  const unknown = listed.filter(({ name, covers }) => name !== "*" && !declared.some(covers));
  return [
    ...lacking.map((tool) => ({ tool, why: whyLacking(tool) })),
    ...unknown.map(({ text, covers }) => {
      const why = absent.find(({ name }) => covers(name))?.reason;
      return { tool: text, why: why ?? "there is no such tool" };
    }),
  ];
}
