import type { AgentDefinition } from "../protocol/index.ts";
import type { AgentRequest, ChosenMode } from "./assemble-agent.ts";
import { denialOf } from "./denial-of.ts";
import { giveMemory, type MemoryTools } from "./give-memory.ts";
import { idleTools, withoutTask } from "./idle-tools.ts";
import { mainAgent } from "./main-agent.ts";
import { type ResolvedTools, resolveTools, type ToolSupply } from "./resolve-tools.ts";

export type ReadTools = ({ readonly ok: true } & MemoryTools) | { readonly ok: false; readonly message: string };

/** What a definition, the rules and a memory leave of the tools there are. */
export function readTools(
  request: AgentRequest,
  { mode, named = false }: Pick<ChosenMode, "mode"> & { readonly named?: boolean },
): ReadTools {
  const { definition = mainAgent.definition, memory, rules, absentTools = [] } = request;
  const available = request.tools.map(({ name }) => name).filter((name) => denialOf(name, rules) === undefined);
  const supply = { available, absent: [...absentTools, ...withoutSkills(request)] };
  const resolved = withoutIdle(resolveTools(definition, supply), { definition, supply, named });
  if (resolved.problem !== undefined) return { ok: false, message: resolved.problem };
  // In plan mode and for the built-in agents, which know no memory, there is only the index.
  if (memory === undefined || mode === "plan" || definition.source === "built-in") {
    return { ok: true, resolved, writable: false };
  }
  return { ok: true, ...giveMemory(resolved, { definition, directory: memory.directory, available }) };
}

interface Reading {
  readonly definition: AgentDefinition;
  readonly supply: ToolSupply;
  readonly named: boolean;
}

function withoutIdle(resolved: ResolvedTools, { definition, supply, named }: Reading): ResolvedTools {
  const idle = idleTools(resolved.report.resolvedTools, { named });
  if (idle.length === 0) return resolved;
  return resolveTools(definition, {
    available: supply.available.filter((tool) => !idle.includes(tool)),
    absent: [...supply.absent, ...idle.map((name) => ({ name, reason: `${withoutTask}.` }))],
  });
}

function withoutSkills({ tools }: AgentRequest): ToolSupply["absent"] {
  if (tools.some(({ name }) => name === "Skill")) return [];
  return [{ name: "Skill", reason: "there is no skill here that a model may call for." }];
}
