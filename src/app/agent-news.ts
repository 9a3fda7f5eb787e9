import { delegationList } from "../definitions/index.ts";
import type { AgentDefinition, Rule } from "../protocol/index.ts";
import { offeredAgents } from "./delegation.ts";
import type { Household } from "./household.ts";

/**
 * Reads files of agents again and says what has changed for who gives work, in words for it; undefined: nothing. The list
 * that was declared with the tool stays, for the cache.
 */
export function createAgentNews(household: Household, rules: readonly Rule[]): () => Promise<string | undefined> {
  let known = offeredAgents(household, { rules });
  return async () => {
    await household.renew?.();
    const before = linesOf(known);
    known = offeredAgents(household, { rules });
    const now = linesOf(known);
    const fresh = [...now].filter(([name]) => !before.has(name)).map(([, line]) => line);
    const other = [...now].filter(([name, line]) => (before.get(name) ?? line) !== line).map(([, line]) => line);
    const gone = [...before.keys()].filter((name) => !now.has(name));
    const parts = [
      ...section("New", fresh),
      ...section("Changed", other),
      ...(gone.length === 0 ? [] : [`No longer there: ${gone.join(", ")}.`]),
    ];
    return parts.length === 0 ? undefined : `[The agents for Task have changed.\n${parts.join("\n")}]`;
  };
}

/** The line of each in the list that a model chooses from; hidden ones have none. */
function linesOf(definitions: readonly AgentDefinition[]): ReadonlyMap<string, string> {
  const shown = definitions.filter(({ hidden }) => hidden !== true);
  return new Map(shown.map((definition) => [definition.name, delegationList([definition]).text]));
}

const most = 20;

function section(what: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length > most ? `\n- and ${lines.length - most} more` : "";
  return [`${what} agent${lines.length === 1 ? "" : "s"}:\n${lines.slice(0, most).join("\n")}${more}`];
}
