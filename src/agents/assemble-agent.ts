import type { ModelDescription } from "../ports/index.ts";
import type {
  AgentDefinition,
  CacheLifetime,
  Effort,
  Head,
  PermissionMode,
  Policy,
  Rule,
  ToolDeclaration,
  ToolReport,
} from "../protocol/index.ts";
import { chooseEffort } from "./choose-effort.ts";
import { composePrompt, type PromptParts } from "./compose-prompt.ts";
import type { AgentMemory, MemoryTools } from "./give-memory.ts";
import { mainAgent } from "./main-agent.ts";
import type { ToolSupply } from "./resolve-tools.ts";
import type { ResolvedAgent } from "./resolved-agent.ts";

export interface AgentRequest {
  /** Absent: the main agent itself. */
  readonly definition?: AgentDefinition;
  /** The definition's body, in full. */
  readonly prompt?: string;
  readonly model: ModelDescription;
  readonly requestedModel: string | null;
  readonly modelReason: string;
  readonly maxTokensField?: Head["maxTokensField"];
  /** Counts where the wire can say it. */
  readonly cacheLifetime?: CacheLifetime | undefined;
  readonly tools: readonly ToolDeclaration[];
  readonly absentTools?: ToolSupply["absent"];
  readonly rules: readonly Rule[];
  /** Of the agents above it. */
  readonly layers?: Policy["layers"];
  /** What a person asked for with this call; beats the definition, which beats the settings. */
  readonly asked: Wishes;
  readonly settings: Wishes;
  /** Absolute real path. */
  readonly workspaceRoot: string;
  readonly additionalDirectories: readonly string[];
  readonly readableRoots: readonly string[];
  readonly platform: string;
  readonly skills?: PromptParts["skills"];
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
}

export interface Wishes {
  readonly effort?: Effort | undefined;
  readonly mode?: PermissionMode | undefined;
  readonly maxTurns?: number | undefined;
}

export interface ChosenMode {
  readonly mode: PermissionMode;
  /** Why it is not the one the definition wants. */
  readonly notice?: string;
}

export interface AgentParts extends ChosenMode, MemoryTools {}

export type AgentResolution =
  | {
      readonly ok: true;
      readonly agent: ResolvedAgent;
      readonly report: ToolReport;
      readonly notices: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

const DEFAULT_MAX_TURNS = 50;

/** A definition and its surroundings, with the tools that were read for it, as an agent ready to run. */
export function assembleAgent(
  request: AgentRequest,
  { mode, notice, resolved, writable }: AgentParts,
): AgentResolution {
  const { definition = mainAgent.definition, asked, settings, model } = request;
  const { report, limits } = resolved;
  const tools = request.tools.filter(({ name }) => report.resolvedTools.includes(name));
  const wanted = asked.effort ?? definition.effort ?? settings.effort;
  const { effort, notice: aboutEffort } = chooseEffort(wanted, { ...model, hasTools: tools.length > 0 });
  const { criticalReminder, initialPrompt, contextTokens } = definition;
  const layers = withMore(request.layers ?? [], resolved.layers);
  const agent: ResolvedAgent = {
    agentType: definition.name,
    head: headOf(request, {
      definition,
      tools,
      limits: limits.flat(),
      writable,
      ...(effort === undefined ? {} : { effort }),
    }),
    policy: {
      mode,
      pool: tools.map((tool) => tool.name),
      rules: withMore(request.rules, resolved.rules),
      ...(layers.length === 0 ? {} : { layers }),
      workspaceRoots: [request.workspaceRoot, ...request.additionalDirectories],
      readableRoots: request.readableRoots,
    },
    maxTurns: asked.maxTurns ?? definition.maxTurns ?? settings.maxTurns ?? DEFAULT_MAX_TURNS,
    requestedModel: request.requestedModel,
    modelReason: request.modelReason,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(criticalReminder === undefined ? {} : { criticalReminder }),
    ...(initialPrompt === undefined ? {} : { initialPrompt }),
  };
  const notices = [...resolved.notices, ...[notice, aboutEffort].filter((each) => each !== undefined)];
  return { ok: true, agent, report, notices };
}

/** The same list where nothing is added: agents share it, and what is made of it. */
function withMore<Each>(list: readonly Each[], more: readonly Each[]): readonly Each[] {
  return more.length === 0 ? list : [...list, ...more];
}

function headOf(
  request: AgentRequest,
  {
    definition,
    tools,
    limits,
    writable,
    effort,
  }: {
    readonly definition: AgentDefinition;
    readonly tools: readonly ToolDeclaration[];
    readonly limits: readonly Rule[];
    readonly writable: boolean;
    readonly effort?: Effort;
  },
): Head {
  const { model, maxTokensField, cacheLifetime, prompt = mainAgent.prompt, skills = [], memory } = request;
  return {
    provider: model.provider,
    model: model.model,
    dialect: model.dialect,
    ...(maxTokensField ? { maxTokensField } : {}),
    ...(effort ? { effort } : {}),
    ...(cacheLifetime === "1h" && model.dialect === "anthropic" ? { cacheLifetime } : {}),
    tools,
    system: composePrompt({
      prompt,
      limits,
      skills,
      ...(memory === undefined ? {} : { memory: { ...memory, writable } }),
    }),
    systemContext: `Workspace: ${request.workspaceRoot} (${request.platform})`,
    userContext: definition.omitProjectContext ? "" : (request.projectContext ?? ""),
  };
}
