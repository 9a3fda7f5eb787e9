import { parseRule } from "../../permissions/index.ts";
import type { AgentDefinition, Rule, ToolReport } from "../../protocol/index.ts";
import type { AbsentTool } from "./resolve-tools.ts";
import type { WithheldTool } from "./tiers.ts";
import { isEnforceable, readToolEntry } from "./tool-entry.ts";

export interface ToolSearch {
  /** Canonical names of all tools that any agent of the session can have. */
  readonly declared: readonly string[];
  /** Tools that the agent's tier takes away. */
  readonly withheld: readonly WithheldTool[];
  readonly absent: readonly AbsentTool[];
  readonly rules: readonly Rule[];
  readonly report: ToolReport;
}

/** Lists the tools that a definition asks for and does not get, each with one reason. Without a list it asks for all. */
export function missingTools(definition: AgentDefinition, search: ToolSearch): readonly WithheldTool[] {
  const { declared, withheld, absent, rules, report } = search;
  const listed = (definition.tools ?? ["*"]).map(readToolEntry);
  const disallowed = (definition.disallowedTools ?? []).map(readToolEntry);
  const whyLacking = (tool: string): string => {
    const byTier = withheld.find((each) => each.tool === tool);
    if (byTier !== undefined) return byTier.why;
    const denial = denialOf(tool, rules);
    if (denial !== undefined) return `the ${denial.scope} rule ${denial.text} denies it`;
    if (disallowed.some(({ covers, hasSpecifier }) => covers(tool) && !hasSpecifier))
      return "its definition disallows it";
    if (idleTools([...report.resolvedTools, tool], { named: false }).includes(tool)) return WITHOUT_TASK;
    const covering = listed.filter(({ covers }) => covers(tool));
    if (covering.some(isEnforceable)) return "the permission of its definition denies it";
    return `nobody can judge ${covering.map(({ text }) => text).join(", ")}`;
  };
  const lacking = declared.filter(
    (tool) => !report.resolvedTools.includes(tool) && listed.some(({ covers }) => covers(tool)),
  );
  const unknown = listed.filter(({ name, covers }) => name !== "*" && !declared.some(covers));
  return [
    ...lacking.map((tool) => ({ tool, why: whyLacking(tool) })),
    ...unknown.map(({ text, covers }) => {
      const why = absent.find(({ name }) => covers(name))?.reason;
      return { tool: text, why: why ?? "there is no such tool here" };
    }),
  ];
}

/**
 * Returns the rule that removes a tool: a bare `Bash` or `mcp__server` in a deny list (`Bash(rm:*)` only restricts it), or
 * a compact line that denies the whole tool and that no later line takes back, even in part.
 */
export function denialOf(tool: string, rules: readonly Rule[]): Rule | undefined {
  const listed = rules.find((rule) => rule.form === undefined && isWholeDenial(rule) && isAbout(rule, tool));
  if (listed !== undefined) return listed;
  const lines = rules.filter((rule) => rule.form !== undefined && isAbout(rule, tool));
  const last = lines.findLastIndex(isWholeDenial);
  return lines.slice(last + 1).every(({ effect }) => effect === "deny") ? lines[last] : undefined;
}

function isAbout({ text }: Rule, tool: string): boolean {
  return readToolEntry(text).covers(tool) && parseRule(text).ok;
}

function isWholeDenial({ effect, text }: Rule): boolean {
  return effect === "deny" && !text.includes("(");
}

/** Tools that query, stop or message agents started with Task. */
const agentTools: readonly string[] = ["TaskOutput", "TaskStop", "SendMessage"];

/** Returns the tools of a pool that are useless without Task. A named agent may message agents that it did not start. */
export function idleTools(pool: readonly string[], { named }: { readonly named: boolean }): readonly string[] {
  if (pool.includes("Task")) return [];
  return pool.filter((tool) => agentTools.includes(tool) && !(named && tool === "SendMessage"));
}

export const WITHOUT_TASK = "it goes with Task, which this agent does not have";
