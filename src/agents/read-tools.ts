import type { AgentRequest, ChosenMode } from "./assemble-agent.ts";
import { giveMemory, type MemoryTools } from "./give-memory.ts";
import { isDeniedBy } from "./is-denied-by.ts";
import { mainAgent } from "./main-agent.ts";
import { resolveTools, type ToolSupply } from "./resolve-tools.ts";

export type ReadTools = ({ readonly ok: true } & MemoryTools) | { readonly ok: false; readonly message: string };

/** What a definition, the rules and a memory leave of the tools there are. */
export function readTools(request: AgentRequest, { mode }: Pick<ChosenMode, "mode">): ReadTools {
  const { definition = mainAgent.definition, memory, rules, absentTools = [] } = request;
  const available = request.tools
    .map(({ name }) => name)
    .filter((name) => !rules.some((rule) => isDeniedBy(name, rule)));
  const resolved = resolveTools(definition, { available, absent: [...absentTools, ...withoutSkills(request)] });
  if (resolved.problem !== undefined) return { ok: false, message: resolved.problem };
  // In plan mode and for the built-in agents, which know no memory, there is only the index.
  if (memory === undefined || mode === "plan" || definition.source === "built-in") {
    return { ok: true, resolved, writable: false };
  }
  return { ok: true, ...giveMemory(resolved, { definition, directory: memory.directory, available }) };
}

function withoutSkills({ tools }: AgentRequest): ToolSupply["absent"] {
  if (tools.some(({ name }) => name === "Skill")) return [];
  return [{ name: "Skill", reason: "there is no skill here that a model may call for." }];
}
