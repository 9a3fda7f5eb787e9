import { isDeepStrictEqual } from "node:util";
import {
  type AgentResolution,
  forkAgent,
  judgeAgent,
  limitsModels,
  type ResolvedAgent,
  resolveSubagent,
  type SubagentRequest,
  tierIn,
} from "../../agents/index.ts";
import { describeError } from "../../lib/index.ts";
import { parseRule } from "../../permissions/index.ts";
import type { Hooks, McpConnection, Model, ModelDescription } from "../../ports/index.ts";
import {
  type AgentDefinition,
  type AgentId,
  FORK_TYPE,
  type Head,
  type JsonSchema,
  type McpServerUse,
  type Policy,
  type Settings,
  type SpawnSpec,
  type ToolDeclaration,
  withoutRuntimeTag,
} from "../../protocol/index.ts";
import { type ClockLimits, clockLimits } from "../host/clock-limits.ts";
import type { OutputCheck } from "../host/output-check.ts";
import { type AvailableAgent, type AvailableAgents, policyForProgram, unknownAgentType } from "./available-agents.ts";
import type { Prepare, PreparedAgent, PrepareRequest, Refusal } from "./prepared-agent.ts";
import type { RunTerms } from "./subagent.ts";
import { isVerifier, keepInCopy, policyInCopy, verifierPolicy, type WorkingCopy } from "./working-copy.ts";

/** Settings and services of a session that are used to prepare its subagents. */
export interface SubagentPorts {
  readonly agents: AvailableAgents;
  /** Returns the agent types that a model can start. */
  readonly offered: () => readonly string[];
  readonly settings: Settings;
  /** The user's home directory, for rules that begin with `~`. */
  readonly home?: string | undefined;
  /** Whether a user is present. */
  readonly interactive: boolean;
  /** Whether agents may work in the background. */
  readonly mayBackground: boolean;
  /** Returns the tools that any of the session's agents can have. */
  readonly tools: () => readonly ToolDeclaration[];
  /** Returns the agent with a Task tool that lists the agents that it may start. */
  withTaskTool(agent: ResolvedAgent): ResolvedAgent;
  /** Built-in tools that are not available in this session, with the reason. */
  readonly absentTools: readonly { readonly name: string; readonly reason: string }[];
  /** Connection to the main agent's MCP servers. */
  readonly connection: McpConnection;
  /** Whether the embedding program supplied the model, so that no other model is available. */
  readonly modelIsGiven: boolean;
  /**
   * Creates a model by name, from the parent's provider unless the name specifies another. Throws if it is not
   * available.
   */
  chooseModel(
    name: string,
    parentProvider: string,
  ): { readonly model: Model; readonly reason: string; readonly notice?: string | undefined };
  /** Returns the names that rules may use for a model, such as its id and its tier. */
  namesOfModel(model: Pick<ModelDescription, "provider" | "model">): readonly string[];
  /** Connects MCP servers for one agent. The servers start in the directory `root`. */
  connect(
    servers: readonly McpServerUse[],
    use: { readonly owner: AgentId; readonly signal: AbortSignal; readonly root: string },
  ): Promise<McpConnection>;
  /** Creates a copy of the repository at `cwd` for one agent. */
  openCopy(
    agentId: AgentId,
    definition: AgentDefinition,
    cwd: string,
  ): Promise<{ readonly ok: true; readonly copy: WorkingCopy } | Refusal>;
  /** Returns the session's hooks combined with those of a definition. */
  hooksFor(definition: AgentDefinition): Promise<Hooks | undefined>;
  /** Returns the check for a report with this JSON Schema. */
  checkOutput(schema: JsonSchema): { readonly ok: true; readonly check: OutputCheck } | Refusal;
}

/** Creates the function that prepares subagents from their definition, call and parent. */
export function createPrepare(ports: SubagentPorts): Prepare {
  const resolve = createResolver(ports.withTaskTool);
  return async (request) => {
    if (request.forkHead) return withOutput(prepareFork(request, request.forkHead, ports), request.terms, ports);
    return prepareDefined(request, ports, resolve);
  };
}

/** Resolves an agent, lists the agents that it may start, and adds the instructions of the MCP servers whose tools it has. */
type Resolve = (request: SubagentRequest, connections: readonly McpConnection[]) => AgentResolution;

/**
 * Returns a function that resolves agents. Keeps the last result for each type, so that hundreds of agents of one type
 * share one head and one policy. The bytes of a head and the compiled rules of a policy are cached per object.
 */
export function createResolver(withTaskTool: SubagentPorts["withTaskTool"] = (agent) => agent): Resolve {
  const known = new Map<string, { readonly asked: Parameters<Resolve>; readonly resolution: AgentResolution }>();
  return (...asked) => {
    const [request, connections] = asked;
    const last = known.get(request.definition.name);
    if (last !== undefined && isDeepStrictEqual(last.asked, asked)) return last.resolution;
    const found = resolveSubagent(request);
    const resolution = found.ok ? { ...found, agent: withInstructions(withTaskTool(found.agent), connections) } : found;
    known.set(request.definition.name, { asked, resolution });
    return resolution;
  };
}

/** Adds the check of the report's form that the program, the call or the definition requests, in this order. */
function withOutput(
  prepared: PreparedAgent | Refusal,
  { output, outputSchema }: Pick<RunTerms, "output" | "outputSchema">,
  { checkOutput }: Pick<SubagentPorts, "checkOutput">,
): PreparedAgent | Refusal {
  if (!prepared.ok) return prepared;
  if (output !== undefined || outputSchema === undefined) return { ...prepared, output };
  const made = checkOutput(outputSchema);
  return made.ok ? { ...prepared, output: made.check } : made;
}

async function prepareDefined(
  request: PrepareRequest,
  ports: SubagentPorts,
  resolve: Resolve,
): Promise<PreparedAgent | Refusal> {
  const { spec, terms, parent, before } = request;
  const found = await ports.agents.find(spec.agentType);
  if (found === undefined) {
    const isResumed = before !== undefined;
    return refuse(isResumed ? goneDefinition(spec) : unknownAgentType(spec.agentType, ports, parent.agent));
  }
  const { definition } = found;
  const { policy } = parent.agent;
  const chosen = modelFor(request, definition, ports);
  const judged = request.by === "program" ? policyForProgram(policy) : policy;
  const denial = agentDenial(definition, { policy: judged, model: chosen.model, ports });
  if (denial !== undefined) return refuse(denial);
  const background = ports.mayBackground && (terms.background || definition.background === true);
  const isolated = (spec.isolation ?? definition.isolation) !== undefined;
  const { cwd } = parent.services;
  const opened = isolated ? await ports.openCopy(spec.agentId, definition, cwd) : undefined;
  if (opened?.ok === false) return opened;
  const copy = opened?.copy;
  const root = copy?.root ?? cwd;
  const { mcpTools } = ports.settings.subagents ?? {};
  const hasServers = mcpTools !== "never" && (mcpTools !== "foreground" || !background);
  const own = await ports.connect(hasServers ? (definition.mcpServers ?? []) : [], {
    owner: spec.agentId,
    signal: request.signal,
    root,
  });
  const release = async () => {
    await own.release();
    return copy?.leave();
  };
  const assembled = assemble(request, { found, chosen, background, copy, root, own, ports, resolve, release });
  const { output, outputSchema = definition.outputSchema } = terms;
  const prepared = withOutput(assembled, { output, outputSchema }, ports);
  if (!prepared.ok) {
    await release();
    return prepared;
  }
  return {
    ...prepared,
    executor: own.addTo(prepared.executor),
    hooks: definition.hooks && (await ports.hooksFor(definition)),
  };
}

interface Parts extends Pick<PreparedAgent, "release" | "background"> {
  readonly found: AvailableAgent;
  readonly chosen: SubagentModel;
  readonly copy: WorkingCopy | undefined;
  readonly root: string;
  /** MCP servers that only this agent uses. */
  readonly own: McpConnection;
  readonly ports: SubagentPorts;
  readonly resolve: Resolve;
}

function assemble(request: PrepareRequest, parts: Parts): PreparedAgent | Refusal {
  const { spec, terms, parent, before } = request;
  const { found, chosen, background, copy, root, own, ports, resolve, release } = parts;
  const { definition, followUp } = found;
  const { settings } = ports;
  const above = parent.agent.childPolicy ?? parent.agent.policy;
  const { model, requested, reason, notice } = chosen;
  const ownTools = own.tools.map(({ declaration }) => declaration);
  const ownNames = ownTools.map(({ name }) => name);
  const prompt = promptOf(found, root);
  if (typeof prompt !== "string") return prompt;
  const subagent: SubagentRequest = {
    ...found,
    prompt,
    parentPolicy: copy ? policyInCopy(above, copy, ports.home) : above,
    tier: tierIn(settings.subagents ?? {}, { background, depth: spec.depth, named: spec.name !== undefined }),
    model: model.describe(),
    requestedModel: requested,
    modelReason: reason,
    tools: [...ports.tools().filter(({ name }) => !ownNames.includes(name)), ...ownTools],
    absentTools: ports.absentTools,
    ownTools: ownNames,
    before,
    asked: { maxTurns: terms.maxTurns, effort: terms.effort },
    settings: { effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: root,
    additionalDirectories: copy ? [] : above.workspaceRoots.slice(1),
    readableRoots: found.readableRoots,
  };
  const resolution = resolve(subagent, [ports.connection, own]);
  if (!resolution.ok) return resolution;
  const verifies = copy !== undefined && isVerifier(definition);
  const { agent } = resolution;
  const base = copy ? (verifies ? keepInCopy(copy.executor, copy) : copy.executor) : parent.services.executor;
  return {
    ok: true,
    agent: verifies ? { ...agent, policy: verifierPolicy(agent.policy, { parent: above, copy }) } : agent,
    model,
    executor: base,
    cwd: root,
    tools: resolution.report,
    budget: definition.budget ?? {},
    limits: limitsFor(definition, background, ports),
    background,
    grants: settings.background?.preapprove ? launchGrants(definition) : undefined,
    inherits: definition.forkContext ? "context" : undefined,
    acceptance: terms.acceptance ?? definition.acceptance,
    followUp,
    notices: [...found.notices, ...resolution.notices, ...own.problems, ...(notice === undefined ? [] : [notice])],
    release,
  };
}

/** Prepares a fork, which has its parent's model, tools and directory. */
function prepareFork(
  { spec, terms, parent, before }: PrepareRequest,
  head: Head,
  ports: SubagentPorts,
): PreparedAgent | Refusal {
  const { subagents = {} } = ports.settings;
  const { policy } = parent.agent;
  const denial = agentDenial({ name: FORK_TYPE }, { policy, model: parent.services.model, ports });
  if (denial !== undefined) return refuse(denial);
  // If a user is present, forks work in the background, so that the user can keep talking to the parent.
  const background = ports.mayBackground && (terms.background || ports.interactive);
  const { executor, cwd, hooks, model } = parent.services;
  const { provider, model: name } = model.describe();
  // A fork keeps its conversation's head unless the model has changed.
  const isSame = head.provider === provider && head.model === name;
  const { agent, report } = forkAgent({
    parent: parent.agent,
    head: isSame ? head : parent.agent.head,
    allowedTools: terms.fork?.allowedTools,
    readOnly: terms.fork?.readOnly,
    tier: {
      background,
      mcpTools: subagents.mcpTools ?? "always",
      allowQuestions: subagents.allowQuestions === "foreground",
      named: spec.name !== undefined,
    },
    maxTurns: terms.maxTurns,
    before,
  });
  const unknown = report.invalidTools.join(", ");
  if (unknown !== "") {
    const known = parent.agent.policy.pool.join(", ");
    return refuse(`allowed_tools lists tools that this fork can't have: ${unknown}. Available tools: ${known}.`);
  }
  return {
    ok: true,
    agent,
    inherits: "fork",
    model,
    executor,
    cwd,
    tools: report,
    budget: {},
    limits: limitsFor({}, background, ports),
    background,
    acceptance: terms.acceptance,
    notices: [],
    hooks,
    release: async () => undefined,
  };
}

function limitsFor(
  definition: Parameters<typeof clockLimits>[0]["definition"],
  background: boolean,
  { settings, interactive, mayBackground }: SubagentPorts,
): ClockLimits {
  return clockLimits({ definition, settings, background, isMain: false, mayDetach: interactive && mayBackground });
}

/** Part of a request that determines a subagent's model. */
export interface ModelRequest extends Pick<PrepareRequest, "parent" | "keptModel"> {
  readonly terms: Pick<RunTerms, "model" | "fork">;
}

/**
 * Creates the function that returns the names of the model that a subagent would use, for rules such as
 * `Agent(model:opus)`. An agent type that does not exist has no model.
 */
export function createModelNames(ports: SubagentPorts): ModelNames {
  return async (agentType, request) => {
    const written = request.terms.model === undefined ? [] : [request.terms.model];
    const isFork = request.terms.fork !== undefined || agentType === FORK_TYPE;
    const named = ports.agents.definitions.find(({ name }) => name === agentType);
    const definition = isFork ? undefined : (named ?? (await ports.agents.find(agentType))?.definition);
    if (!isFork && definition === undefined) return written;
    const model = definition ? modelFor(request, definition, ports).model : request.parent.services.model;
    return [...new Set([...written, ...ports.namesOfModel(model.describe())])];
  };
}

export type ModelNames = (agentType: string, request: ModelRequest) => Promise<readonly string[]>;

interface SubagentModel {
  readonly model: Model;
  readonly requested: string | null;
  readonly reason: string;
  readonly notice?: string | undefined;
}

/**
 * Chooses the model that the call, the agent's last run, the definition or the settings name, in this order, or else the
 * parent's model. If that model is unavailable, uses the parent's model and adds a notice.
 */
function modelFor(
  { terms, parent, keptModel }: ModelRequest,
  definition: AgentDefinition,
  { settings, modelIsGiven, chooseModel }: SubagentPorts,
): SubagentModel {
  const requests: readonly (readonly [name: string | undefined, from: string])[] = [
    [terms.model, "the call"],
    [keptModel, "its last run"],
    [definition.model, `agent ${definition.name}`],
    [settings.subagents?.model, "settings.subagents.model"],
  ];
  const [wanted, from = ""] = requests.find(([name]) => name !== undefined) ?? [];
  const { model } = parent.services;
  const inherited = { model, requested: wanted ?? null };
  if (wanted === undefined) return { ...inherited, reason: "the parent's model" };
  if (wanted === "inherit") return { ...inherited, reason: `the parent's model, requested by ${from}` };
  const { provider, dialect } = model.describe();
  if (modelIsGiven || provider === "offline") return { ...inherited, reason: "the only available model" };
  try {
    const chosen = chooseModel(wanted, provider);
    const { notice } = chosen;
    return {
      model: chosen.model,
      requested: wanted,
      reason: chosen.reason.replaceAll("settings.model", from),
      notice: notice && `Agent "${definition.name}": ${notice}`,
    };
  } catch (error) {
    const notice = `Agent "${definition.name}" (${dialect}) uses its parent's model: ${wanted}, requested by ${from}, is not available. ${describeError(error)}`;
    return {
      ...inherited,
      reason: `the parent's model, because ${wanted}, requested by ${from}, is not available`,
      notice,
    };
  }
}

/**
 * Returns the system prompt, or a refusal if the embedding program's prompt function fails. The caller then continues
 * without the agent.
 */
function promptOf(found: AvailableAgent, cwd: string): string | Refusal {
  try {
    return found.prompt(cwd);
  } catch (error) {
    return refuse(describeError(error));
  }
}

/**
 * Returns the rules that the user can approve before a background agent starts: entries in `tools` with a specifier,
 * never a whole tool.
 */
function launchGrants({ tools = [] }: Pick<AgentDefinition, "tools">): readonly string[] {
  return tools.filter((text) => {
    const rule = parseRule(text);
    if (!rule.ok || !["command", "path", "domain"].includes(rule.target.kind)) return false;
    return !/^[*:/.\s]*$/.test(text.slice(text.indexOf("(") + 1, -1));
  });
}

/** Adds the instructions of MCP servers to the context of an agent that has their tools. */
export function withInstructions(agent: ResolvedAgent, connections: readonly McpConnection[]): ResolvedAgent {
  const { head, policy } = agent;
  const used = connections.filter(({ tools }) => tools.some(({ declaration: { name } }) => policy.pool.includes(name)));
  const texts = new Map(used.flatMap(({ instructions }) => instructions.map(({ server, text }) => [server, text])));
  if (texts.size === 0) return agent;
  const parts = [...texts].map(
    ([server, text]) => `Instructions from the MCP server ${server}:\n${withoutRuntimeTag(text)}`,
  );
  return {
    ...agent,
    head: { ...head, systemContext: [head.systemContext, ...parts].filter((text) => text !== "").join("\n\n") },
  };
}

/**
 * Returns the reason if a rule such as `Task(Explore)` denies the agent, regardless of the name that the request used.
 */
function agentDenial(
  { name }: Pick<AgentDefinition, "name">,
  { policy, model, ports }: { readonly policy: Policy; readonly model: Model; readonly ports: SubagentPorts },
): string | undefined {
  const models = limitsModels(policy) ? ports.namesOfModel(model.describe()) : [];
  const { effect, scope, rule } = judgeAgent(name, policy, models);
  return effect === "deny" ? `Agent "${name}" can't be used here: the ${scope} rule ${rule} denies it.` : undefined;
}

function goneDefinition({ agentId, agentType }: SpawnSpec): string {
  return `Agent ${agentId} can't be resumed: the definition of "${agentType}" is missing. Its file was deleted or renamed, or is no longer loaded. Restore the file, or start another agent.`;
}

function refuse(message: string): Refusal {
  return { ok: false, message };
}
