import type { AgentDefinition, Effort, Head, Rule, ToolDeclaration } from "../../protocol/index.ts";
import { type ChosenMode, chooseMode } from "../policy/modes.ts";
import { composePrompt } from "../prompt/compose-prompt.ts";
import { mainAgent } from "../prompt/main-agent.ts";
import { declareTool } from "../tools/declare-tool.ts";
import type { MemoryTools } from "../tools/memory-tools.ts";
import { selectTools } from "../tools/select-tools.ts";
import { chooseEffort } from "./model-parameters.ts";
import type { AgentRequest, AgentResolution, ResolvedAgent } from "./resolution.ts";

/** Resolves the agent that a session runs: the main agent, or the definition that replaces it. */
export function resolveAgent(request: AgentRequest): AgentResolution {
  const { definition = mainAgent.definition, asked, settings } = request;
  if (definition.isolation !== undefined) {
    return {
      ok: false,
      message: `Agent "${definition.name}" works in its own copy of the repository (isolation: ${definition.isolation}), so it can't be a session's main agent.`,
    };
  }
  const mode = chooseMode(definition, { asked: asked.mode, fallback: settings.mode ?? "default" });
  const tools = selectTools(request, mode);
  if (!tools.ok) return tools;
  return assembleAgent(request, { ...mode, ...tools });
}

const DEFAULT_MAX_TURNS = 50;

/** Assembles an agent from its head, policy and limits, once its mode and tools are known. */
export function assembleAgent(
  request: AgentRequest,
  { mode, notice, resolved, writable }: ChosenMode & MemoryTools,
): AgentResolution & { readonly ok: true } {
  const { definition = mainAgent.definition, asked, settings, model } = request;
  const { report, limits } = resolved;
  const pool = report.resolvedTools;
  const tools = request.tools.filter(({ name }) => pool.includes(name)).map((tool) => declareTool(tool, pool));
  const wanted = asked.effort ?? definition.effort ?? settings.effort;
  const { effort, notice: effortNotice } = chooseEffort(wanted, { ...model, hasTools: tools.length > 0 });
  const { criticalReminder, initialPrompt, contextTokens } = definition;
  const layers = appended(request.layers ?? [], resolved.layers);
  const agent: ResolvedAgent = {
    agentType: definition.name,
    head: headOf(request, { definition, tools, limits: limits.flat(), writable, effort }),
    policy: {
      mode,
      pool: tools.map((tool) => tool.name),
      rules: appended(request.rules, resolved.rules),
      layers: layers.length === 0 ? undefined : layers,
      workspaceRoots: [request.workspaceRoot, ...request.additionalDirectories],
      readableRoots: request.readableRoots,
    },
    maxTurns: asked.maxTurns ?? definition.maxTurns ?? settings.maxTurns ?? DEFAULT_MAX_TURNS,
    requestedModel: request.requestedModel,
    modelReason: request.modelReason,
    color: definition.color,
    contextTokens,
    criticalReminder,
    initialPrompt,
  };
  const notices = [...resolved.notices, ...[notice, effortNotice].filter((each) => each !== undefined)];
  return { ok: true, agent, report, notices };
}

/**
 * Appends elements to a list. Returns the list itself if there is nothing to append, because rules are compiled once
 * per list object.
 */
function appended<Each>(list: readonly Each[], more: readonly Each[]): readonly Each[] {
  return more.length === 0 ? list : [...list, ...more];
}

interface HeadParts {
  readonly definition: AgentDefinition;
  readonly tools: readonly ToolDeclaration[];
  readonly limits: readonly Rule[];
  readonly writable: boolean;
  readonly effort: Effort | undefined;
}

function headOf(request: AgentRequest, { definition, tools, limits, writable, effort }: HeadParts): Head {
  const { model, maxTokensField, cacheLifetime, prompt = mainAgent.prompt, skills = [], memory } = request;
  return {
    provider: model.provider,
    model: model.model,
    dialect: model.dialect,
    maxTokensField,
    thinking: model.thinking,
    effort,
    cacheLifetime: cacheLifetime === "1h" && model.dialect === "anthropic" ? cacheLifetime : undefined,
    tools,
    system: composePrompt({ prompt, limits, skills, memory: memory && { ...memory, writable } }),
    systemContext: "",
    userContext: definition.omitProjectContext ? "" : (request.projectContext ?? ""),
  };
}
