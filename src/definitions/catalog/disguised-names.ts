import type { AgentDefinition, Diagnostic } from "../../protocol/index.ts";
import { isDisguised, namedLetters, shapeOf } from "../reading/confusable-name.ts";

/** Names that can be taken for another agent's. Of those that look like a built-in the reading of the file tells. */
export function disguisedNames(agents: readonly AgentDefinition[]): Diagnostic[] {
  const odd = agents.filter(({ name }) => isDisguised(name));
  if (odd.length === 0) return [];
  const byShape = new Map<string, AgentDefinition[]>();
  for (const agent of agents) {
    const alike = byShape.get(shapeOf(agent.name));
    if (alike) alike.push(agent);
    else byShape.set(shapeOf(agent.name), [agent]);
  }
  return odd.flatMap(({ name, file = "" }): Diagnostic[] => {
    const alike = byShape.get(shapeOf(name)) ?? [];
    const other = alike.find((each) => each.name.toLowerCase() !== name.toLowerCase());
    if (other === undefined || other.source === "built-in") return [];
    const like = `looks like the agent "${other.name}" of ${other.file ?? other.source}, which it is not`;
    const message = `The name "${name}" has ${namedLetters(name)} and ${like}.`;
    return [{ severity: "warning", file, line: 1, code: "confusable_name", message, fix: "Rename one of the two." }];
  });
}
