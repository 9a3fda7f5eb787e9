import { type AgentDefinition, toolNames } from "../../protocol/index.ts";
import { resolveTools } from "./resolve-tools.ts";
import { readToolEntry } from "./tool-entry.ts";

/** The tools that a definition leaves an agent, whichever tools a session has. */
export interface ListedTools {
  /** True if the agent has every tool except those in `without`, also tools that the definition does not know. */
  readonly every: boolean;
  readonly without: readonly string[];
  /** Canonical names of the agent's tools, in the order of the definition. If `every`, only built-in tools. */
  readonly names: readonly string[];
  /** Rules that limit what the agent can do with some of its tools, such as `Bash(git *)`. */
  readonly limits: readonly string[];
}

/** Stands for tools of MCP servers and programs. */
const OTHER = "\u0000other";

/** Returns the tools that a definition's lists and permission rules leave an agent. */
export function listedTools(definition: AgentDefinition): ListedTools {
  const { tools = [], disallowedTools = [] } = definition;
  const named = [...tools, ...disallowedTools].map((text) => readToolEntry(text).name).filter((name) => name !== "*");
  const available = [...new Set([...named, ...toolNames, OTHER])];
  const { report, limits } = resolveTools(definition, { available, absent: [] });
  const had = new Set(report.resolvedTools);
  const every = had.delete(OTHER);
  return {
    every,
    without: every ? available.filter((name) => name !== OTHER && !had.has(name)) : [],
    names: [...had],
    // If both the list and the permission rules limit a tool, the rules are shown.
    limits: limits.findLast((rules) => rules.length > 0)?.map(({ text }) => text) ?? [],
  };
}

/** Describes the tools for a model: `Read, Bash(git *)`, `All tools except Write`. */
export function toolsText(listed: ListedTools): string {
  const { every, without, names, limits } = listed;
  const limitsOf = (tool: string) => limits.filter((text) => readToolEntry(text).name === tool);
  if (!every) {
    const texts = names.flatMap((name) => (limitsOf(name).length > 0 ? limitsOf(name) : [name]));
    return texts.length === 0 ? "None" : texts.join(", ");
  }
  const except = without.length > 0 ? ` except ${without.join(", ")}` : "";
  const only = names.map(limitsOf).filter((texts) => texts.length > 0);
  return `All tools${except}${only.length > 0 ? `, but only ${only.flat().join(", ")}` : ""}`;
}
