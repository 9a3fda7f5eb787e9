import type { AgentDefinition, PermissionMode } from "../../protocol/index.ts";
import { mainAgent } from "../prompt/main-agent.ts";
import type { AgentRequest } from "../resolve/resolution.ts";
import { addMemoryTools, type MemoryTools } from "./memory-tools.ts";
import { denialOf, idleTools, WITHOUT_TASK } from "./missing-tools.ts";
import { type AbsentTool, type ResolvedTools, resolveTools, type ToolSupply } from "./resolve-tools.ts";

export type SelectedTools = ({ readonly ok: true } & MemoryTools) | { readonly ok: false; readonly message: string };

/** Selects an agent's tools from those that exist: rules first, then the definition, then what its memory needs. */
export function selectTools(
  request: AgentRequest,
  { mode, named = false }: { readonly mode: PermissionMode; readonly named?: boolean },
): SelectedTools {
  const { definition = mainAgent.definition, memory, rules, absentTools = [] } = request;
  const available = request.tools.map(({ name }) => name).filter((name) => denialOf(name, rules) === undefined);
  const supply = { available, absent: [...absentTools, ...withoutSkills(request)] };
  const resolved = withoutIdle(resolveTools(definition, supply), { definition, supply, named });
  if (resolved.problem !== undefined) return { ok: false, message: resolved.problem };
  // In plan mode, and for built-in agents, which don't use memory, only the index is shown.
  if (memory === undefined || mode === "plan" || definition.source === "built-in") {
    return { ok: true, resolved, writable: false };
  }
  return { ok: true, ...addMemoryTools(resolved, { definition, directory: memory.directory, available }) };
}

interface IdleContext {
  readonly definition: AgentDefinition;
  readonly supply: ToolSupply;
  readonly named: boolean;
}

function withoutIdle(resolved: ResolvedTools, { definition, supply, named }: IdleContext): ResolvedTools {
  const idle = idleTools(resolved.report.resolvedTools, { named });
  if (idle.length === 0) return resolved;
  return resolveTools(definition, {
    available: supply.available.filter((tool) => !idle.includes(tool)),
    absent: [...supply.absent, ...idle.map((name) => ({ name, reason: `${WITHOUT_TASK}.` }))],
  });
}

function withoutSkills({ tools }: AgentRequest): readonly AbsentTool[] {
  if (tools.some(({ name }) => name === "Skill")) return [];
  return [{ name: "Skill", reason: "there is no skill here that a model may call for." }];
}
