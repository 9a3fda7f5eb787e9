import { estimateTokens } from "../../lib/index.ts";
import type { AgentReport, Diagnostic, ToolReport } from "../../protocol/index.ts";
import {
  type AgentCatalog,
  type CatalogAgent,
  type CatalogOptions,
  loadAgentCatalog,
} from "../agents/agent-catalog.ts";
import { unknownAgent } from "../agents/agent-diagnostics.ts";
import { rowsOf } from "./agents.ts";
import { lintLoaded } from "./check-agents.ts";
import { resolveDefinition } from "./resolve-definition.ts";

/**
 * Reports an agent's definition, tools, cost and problems. Throws a `UserError` that suggests similar names if there is
 * no such agent.
 */
export async function reportAgent(name: string, options: CatalogOptions): Promise<AgentReport> {
  const loaded = await loadAgentCatalog(options);
  const found = loaded.catalog.find(name);
  if (found === undefined) throw unknownAgent(name, loaded);
  return reportOf(found.agent, loaded, options);
}

/** Like `reportAgent`, but for an agent that is already loaded. */
export function reportOf(agent: CatalogAgent, loaded: AgentCatalog, { cwd }: Pick<CatalogOptions, "cwd">): AgentReport {
  const { definition } = agent;
  const { mcpServers = [], hooks = [], name, source, file, plugin, description, model, effort } = definition;
  const { maxTurns, background, isolation, memory, color, skills, permissionMode } = definition;
  const row = rowsOf(loaded).agents.find((each) => each.name === name);
  const { rules = [], settings = {} } = loaded.snapshot.settings ?? {};
  const resolution = resolveDefinition(definition, { rules, settings, cwd });
  const prompt = agent.body();
  return {
    name,
    description,
    source,
    file,
    plugin,
    model,
    effort,
    maxTurns,
    background,
    isolation,
    memory,
    color,
    skills,
    permissionMode,
    // Only names are reported, because the commands and variables of servers and hooks may contain secrets.
    mcpServers: mcpServers.map((each) => each.name),
    hooks: [...new Set(hooks.map(({ event }) => event))],
    mode: resolution.ok ? resolution.agent.policy.mode : undefined,
    tools: definition.tools,
    disallowedTools: definition.disallowedTools,
    toolReport: resolution.ok ? resolution.report : noTools,
    problem: resolution.ok ? undefined : resolution.message,
    notices: resolution.ok ? resolution.notices : [],
    overrides: row?.overrides ?? [],
    hidden: row?.hidden ?? false,
    denied: row?.denied ?? undefined,
    tokens: { listing: row?.tokens ?? 0, prompt: estimateTokens(prompt) },
    prompt,
    diagnostics: unique(lintLoaded(agent, loaded)),
  };
}

const noTools: ToolReport = { hasWildcard: false, validTools: [], invalidTools: [], resolvedTools: [] };

/** Removes duplicates: the check of the file and the check of all agents' names can report the same problem. */
function unique(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const keys = diagnostics.map(({ code, line, message }) => `${code} ${line} ${message}`);
  return diagnostics.filter((_, index) => keys.indexOf(keys[index] as string) === index);
}
