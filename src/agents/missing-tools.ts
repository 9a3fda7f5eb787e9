import type { AgentDefinition, Rule, ToolReport } from "../protocol/index.ts";
import { denialOf } from "./denial-of.ts";
import { idleTools, withoutTask } from "./idle-tools.ts";
import { isJudged, readToolEntry } from "./tool-entry.ts";
import type { WithheldTool } from "./withhold-tools.ts";

export interface ToolSearch {
  /** Canonical names of all the tools there are for any agent. */
  readonly declared: readonly string[];
  /** What the agent's place in the tree takes away. */
  readonly withheld: readonly WithheldTool[];
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
  readonly rules: readonly Rule[];
  readonly report: ToolReport;
}

/** What a definition asks for and does not get, each with one reason. Without a list it asks for everything. */
export function missingTools(definition: AgentDefinition, search: ToolSearch): readonly WithheldTool[] {
  const { declared, report } = search;
  const listed = (definition.tools ?? ["*"]).map(readToolEntry);
  const lacking = declared.filter(
    (tool) => !report.resolvedTools.includes(tool) && listed.some(({ covers }) => covers(tool)),
  );
  const unknown = listed.filter(({ name, covers }) => name !== "*" && !declared.some(covers));
  return [
    ...lacking.map((tool) => ({ tool, why: whyLacking(tool, definition, search) })),
    ...unknown.map(({ text, covers }) => {
      const why = search.absent.find(({ name }) => covers(name))?.reason;
      return { tool: text, why: why ?? "there is no such tool here" };
    }),
  ];
}

function whyLacking(tool: string, definition: AgentDefinition, { withheld, rules, report }: ToolSearch): string {
  const place = withheld.find((each) => each.tool === tool);
  if (place !== undefined) return place.why;
  const denial = denialOf(tool, rules);
  if (denial !== undefined) return `the ${denial.scope} rule ${denial.text} denies it`;
  const disallowed = (definition.disallowedTools ?? []).map(readToolEntry);
  if (disallowed.some(({ covers, hasSpecifier }) => covers(tool) && !hasSpecifier))
    return "its definition disallows it";
  if (idleTools([...report.resolvedTools, tool], { named: false }).includes(tool)) return withoutTask;
  const listed = (definition.tools ?? ["*"]).map(readToolEntry).filter(({ covers }) => covers(tool));
  if (listed.some(isJudged)) return "the permission of its definition denies it";
  return `nobody can judge ${listed.map(({ text }) => text).join(", ")}`;
}
