import { parseRule } from "../../permissions/index.ts";
import type { AgentDefinition, PermissionMode, Rule } from "../../protocol/index.ts";
import { mainAgent } from "../prompt/main-agent.ts";
import type { AgentRequest } from "../resolve/resolution.ts";
import { denialIn, isWholeDenial } from "./definition-rules.ts";
import { addMemoryTools, type MemoryTools } from "./memory-tools.ts";
import { type AbsentTool, type ResolvedTools, resolveTools, type ToolSupply } from "./resolve-tools.ts";
import { readToolEntry } from "./tool-entry.ts";

export type SelectedTools = ({ readonly ok: true } & MemoryTools) | { readonly ok: false; readonly message: string };

/**
 * Selects an agent's tools from the available ones: first by rules, then by the definition. Then adds the tools that
 * the agent's memory needs.
 */
export function selectTools(
  request: AgentRequest,
  { mode, named = false }: { readonly mode: PermissionMode; readonly named?: boolean },
): SelectedTools {
  const { definition = mainAgent.definition, memory, rules, absentTools = [] } = request;
  const available = request.tools.map(({ name }) => name).filter((name) => denialOf(name, rules) === undefined);
  const supply = { available, absent: [...absentTools, ...withoutSkills(request)] };
  const resolved = withoutIdle(resolveTools(definition, supply), { definition, supply, named });
  if (resolved.problem !== undefined) return { ok: false, message: resolved.problem };
  // In plan mode, and for built-in agents, no tools are added for the memory. The agent sees only the index.
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
  return [{ name: "Skill", reason: "there are no skills that a model can load." }];
}

/**
 * Returns the rule that removes a tool: either a bare `Bash` or `mcp__server` in a deny list (`Bash(rm:*)` only
 * restricts the tool), or a line of a `permission` field or a `permissions.jsonc` file that denies the whole tool and
 * that no later line reverses, even in part.
 */
export function denialOf(tool: string, rules: readonly Rule[]): Rule | undefined {
  const about = rules.filter(({ text }) => readToolEntry(text).isAbout(tool) && parseRule(text).ok);
  const listed = about.find((rule) => rule.form === undefined && isWholeDenial(rule));
  if (listed !== undefined) return listed;
  const found = denialIn(
    about.filter(({ form }) => form !== undefined),
    tool,
  );
  return found?.left.length === 0 ? found.denial : undefined;
}

/** Tools that inspect, stop or message agents started with Task. */
const agentTools: readonly string[] = ["TaskOutput", "TaskStop", "SendMessage"];

/**
 * Returns the tools of a pool that are useless without Task. A named agent keeps SendMessage, because it may message
 * agents that it did not start.
 */
export function idleTools(pool: readonly string[], { named }: { readonly named: boolean }): readonly string[] {
  if (pool.includes("Task")) return [];
  return pool.filter((tool) => agentTools.includes(tool) && !(named && tool === "SendMessage"));
}

export const WITHOUT_TASK = "it requires Task, which this agent does not have";
