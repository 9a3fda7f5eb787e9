import { type AgentRequest, type AgentResolution, resolveAgent, resolveSubagent, tierIn } from "../../agents/index.ts";
import { UserError } from "../../lib/index.ts";
import {
  type AgentDefinition,
  type PermissionMode,
  type Policy,
  type ProjectSettings,
  toolNames,
} from "../../protocol/index.ts";

/** The session in which an agent would be started. Its model and its MCP servers are not needed. */
export interface ResolvePlace extends Pick<ProjectSettings, "rules" | "settings"> {
  /** Real path of the workspace. */
  readonly cwd: string;
  /** Permission mode of the session; defaults to the mode in the settings. */
  readonly mode?: PermissionMode | undefined;
  /** Whether the agent runs in the background; defaults to its definition's setting. */
  readonly background?: boolean | undefined;
  /** A tool that is available in addition to the built-in ones. */
  readonly tool?: string | undefined;
}

/** Resolves an agent as if the main agent started it, to report its tools and its policy. */
export function resolveDefinition(definition: AgentDefinition, place: ResolvePlace): AgentResolution {
  const background = place.background ?? definition.background === true;
  const tier = tierIn(place.settings.subagents ?? {}, { background, depth: 1, named: false });
  const parentPolicy = mainPolicy(place);
  return resolveSubagent({ ...commonRequest(place), definition, prompt: "", parentPolicy, asked: {}, tier });
}

/** Returns the main agent's policy. Throws a `UserError` if the main agent can't be started. */
export function mainPolicy(place: ResolvePlace): Policy {
  const resolution = resolveAgent(commonRequest(place));
  if (!resolution.ok) throw new UserError(resolution.message, { code: "agents", exitCode: 1 });
  return resolution.agent.policy;
}

type CommonRequest = Omit<AgentRequest, "definition" | "prompt">;

/**
 * Returns the part of an `AgentRequest` that is the same for all agents. Fields that affect only the prompt are left
 * empty.
 */
function commonRequest({ mode, cwd, rules, settings, tool }: ResolvePlace): CommonRequest {
  const { permissions = {} } = settings;
  const names = tool === undefined || toolNames.includes(tool) ? toolNames : [...toolNames, tool];
  return {
    model: { provider: "none", model: "none", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
    requestedModel: null,
    modelReason: "",
    tools: names.map((name) => ({ name, description: "", inputSchema: { type: "object" } })),
    rules,
    asked: { mode },
    settings: { mode: permissions.defaultMode },
    workspaceRoot: cwd,
    additionalDirectories: permissions.additionalDirectories ?? [],
    readableRoots: [],
  };
}
