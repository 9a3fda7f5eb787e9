import { homedir, platform } from "node:os";
import { MAIN_TYPE, resolveAgent, resolveSubagent } from "../../agents/index.ts";
import { UserError } from "../../lib/index.ts";
import { accesses, decide, pathsOf } from "../../permissions/index.ts";
import {
  type AgentDefinition,
  canonicalToolName,
  type Decision,
  type JsonObject,
  type PermissionMode,
  type Policy,
  toolNames,
} from "../../protocol/index.ts";
import { createLocalWorkspace } from "../../workspace/index.ts";
import { type CatalogPlace, loadAgentCatalog } from "../agents/agent-catalog.ts";
import { unknownAgent } from "../agents/unknown-agent.ts";
import { loadProjectSettings, type ProjectSettings } from "../settings/project-settings.ts";

export interface ExplainRequest {
  /** By name; `main` is the session's own agent. */
  readonly agent: string;
  /** `Bash(git push)`, `Read(src/a.ts)`, or a tool with its input as JSON. */
  readonly call: string;
  readonly place: CatalogPlace;
  /** Of the session; absent: what settings say. */
  readonly mode?: PermissionMode | undefined;
  readonly background?: boolean;
}

export interface ExplainedCall {
  readonly agent: string;
  readonly source: AgentDefinition["source"] | null;
  readonly tool: string;
  readonly input: JsonObject;
  /** In which the agent would work. */
  readonly mode: PermissionMode;
  readonly decision: Decision;
  /** What becomes of it where nobody can answer, as in `retinue -p`. */
  readonly unattended: Decision;
  readonly notices: readonly string[];
}

/** What would be decided about a call of an agent that the session's own agent gives work to, and by which rule. */
export async function explainCall(request: ExplainRequest): Promise<ExplainedCall> {
  const { place, agent: name } = request;
  const settings = loadProjectSettings(place);
  const read = readCallText(request.call);
  if (!read.ok) throw new UserError(read.message, { code: "usage", cure: read.cure, exitCode: 2 });
  const { tool, input } = read;
  const loaded = await loadAgentCatalog({ ...place, settings });
  const found = name === MAIN_TYPE ? undefined : loaded.catalog.find(name)?.agent;
  if (found === undefined && name !== MAIN_TYPE) throw unknownAgent(name, loaded);
  const surroundings = surroundingsOf(request, settings, tool);
  const main = mainPolicy(surroundings);
  const resolution = found && resolveFor(found.definition, { main, surroundings, background: request.background });
  if (resolution !== undefined && !resolution.ok)
    throw new UserError(resolution.message, { code: "agents", exitCode: 1 });
  const policy = resolution?.agent.policy ?? main;
  const judged = await judge({ tool, input, place }, policy);
  return {
    agent: found?.definition.name ?? MAIN_TYPE,
    source: found?.definition.source ?? null,
    tool,
    input,
    mode: policy.mode,
    decision: judged,
    unattended: await judge({ tool, input, place }, { ...policy, unattended: true }),
    notices: resolution?.notices ?? [],
  };
}

type Surroundings = Omit<Parameters<typeof resolveAgent>[0], "definition" | "prompt">;

/** Everything but the agent itself; what only its prompt needs is left empty. */
function surroundingsOf({ mode, place }: ExplainRequest, settings: ProjectSettings, tool: string): Surroundings {
  const { permissions = {} } = settings.settings;
  const names = toolNames.includes(tool) ? toolNames : [...toolNames, tool];
  return {
    model: { provider: "none", model: "none", dialect: "anthropic", window: 200_000, maxOutputTokens: 8_000 },
    requestedModel: null,
    modelReason: "",
    tools: names.map((name) => ({ name, description: "", inputSchema: { type: "object" } })),
    rules: settings.rules,
    asked: { mode },
    settings: { mode: permissions.defaultMode },
    workspaceRoot: place.cwd,
    additionalDirectories: permissions.additionalDirectories ?? [],
    readableRoots: [],
    platform: platform(),
  };
}

function mainPolicy(surroundings: Surroundings): Policy {
  const resolution = resolveAgent(surroundings);
  if (!resolution.ok) throw new UserError(resolution.message, { code: "agents", exitCode: 1 });
  return resolution.agent.policy;
}

function resolveFor(
  definition: AgentDefinition,
  given: {
    readonly main: Policy;
    readonly surroundings: Surroundings;
    readonly background: boolean | undefined;
  },
): ReturnType<typeof resolveSubagent> {
  const background = given.background ?? definition.background === true;
  const tier = { background, depth: 1, maxDepth: 1, mcpTools: "always", allowQuestions: false, named: false } as const;
  return resolveSubagent({ ...given.surroundings, definition, prompt: "", parentPolicy: given.main, asked: {}, tier });
}

async function judge(
  { tool, input, place }: { readonly tool: string; readonly input: JsonObject; readonly place: CatalogPlace },
  policy: Policy,
): Promise<Decision> {
  const { cwd: root, environment } = place;
  const home = environment["HOME"] || homedir();
  const touched = accesses(tool, input);
  const resolved = await createLocalWorkspace({ root, environment, home }).resolve(pathsOf(touched));
  return decide({ toolName: canonicalToolName(tool), accesses: touched, resolved, policy, homes: [home] });
}

type CallText =
  | { readonly ok: true; readonly tool: string; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** A call as a person writes it: `Bash(git push)`, `Read(src/a.ts)`, `Task(Explore)`, `Edit({"file_path": "a.ts"})`. */
function readCallText(text: string): CallText {
  const [, name, body] = /^\s*([\p{L}\p{N}_.\-:]+)\s*(?:\(([\s\S]*)\))?\s*$/u.exec(text) ?? [];
  if (name === undefined) {
    const cure = "Write a tool and what it is to do: 'Bash(git push)'.";
    return { ok: false, message: `${JSON.stringify(text)} is not a call`, cure };
  }
  const tool = canonicalToolName(name);
  const given = body?.trim() ?? "";
  if (given.startsWith("{")) return readJson(tool, given);
  return { ok: true, tool, input: inputs[tool]?.(given) ?? {} };
}

function readJson(tool: string, text: string): CallText {
  try {
    return { ok: true, tool, input: JSON.parse(text) as JsonObject };
  } catch (error) {
    const message = `The input of ${tool} is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { ok: false, message, cure: 'Write it as {"key": "value"}, or without braces in short.' };
  }
}

/** What stands in the parentheses, in the words of the tool. */
const inputs: Readonly<Record<string, (text: string) => JsonObject>> = {
  Bash: (command) => ({ command }),
  Read: (file_path) => ({ file_path }),
  Write: (file_path) => ({ file_path, content: "" }),
  Edit: (file_path) => ({ file_path, old_string: "", new_string: "" }),
  NotebookEdit: (notebook_path) => ({ notebook_path }),
  LS: (path) => (path === "" ? {} : { path }),
  Grep: (path) => ({ pattern: "", ...(path === "" ? {} : { path }) }),
  Glob: (pattern) => ({ pattern }),
  WebFetch: (url) => ({ url: url.startsWith("domain:") ? `https://${url.slice(7)}/` : url }),
  Task: (subagent_type) => ({ prompt: "…", ...(subagent_type === "" ? {} : { subagent_type }) }),
  Skill: (skill) => ({ skill }),
};
