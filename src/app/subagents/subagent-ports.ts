import { relative } from "node:path";
import { describeError } from "../../lib/index.ts";
import { namesOfModel, providerBelow } from "../../model/index.ts";
import type { McpConnection, WorkerSession } from "../../ports/index.ts";
import type { AgentDefinition, AgentId, ToolDeclaration } from "../../protocol/index.ts";
import { isVerifier, type SubagentPorts } from "../../runs/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import type { SessionContext } from "../opening/session-context.ts";
import type { SessionHooks } from "../opening/session-hooks.ts";
import type { SessionServers } from "../opening/session-servers.ts";
import type { SessionTools } from "../opening/session-tools.ts";
import { createStructuredOutput } from "../schemas/structured-output.ts";
import { chooseModel } from "../settings/choose-model.ts";
import { mayBackground, type TaskToolOf, withTaskTool } from "./delegation.ts";

export interface SubagentParts {
  readonly context: SessionContext;
  readonly agents: LoadedAgents;
  readonly servers: SessionServers;
  /** The main agent's MCP servers. */
  readonly connection: McpConnection;
  readonly hooks: SessionHooks;
  readonly tools: SessionTools;
  readonly worker: WorkerSession;
  /** True if the embedding program supplied the model, which is then the only one available. */
  readonly modelIsGiven: boolean;
  /** True if a person is present. */
  readonly interactive: boolean;
  /** Returns the agent types that a model can start. */
  offered(): readonly string[];
  /** Returns the session's tools with their current lists of agents and skills. */
  declarations(): readonly ToolDeclaration[];
  readonly taskToolOf: TaskToolOf;
}

/** Creates the ports that provide subagents with models, MCP servers, working copies, hooks and tools. */
export function createSubagentPorts(parts: SubagentParts): SubagentPorts {
  const { context, agents, servers, connection, hooks, tools, modelIsGiven, interactive, offered } = parts;
  const { declarations, taskToolOf } = parts;
  const { settings, environment, clock } = context;
  return {
    agents,
    settings,
    home: context.facts.userHome,
    interactive,
    offered,
    mayBackground: mayBackground(context),
    tools: declarations,
    withTaskTool: (agent) => withTaskTool(agent, taskToolOf),
    absentTools: tools.absent,
    connection,
    modelIsGiven,
    chooseModel: (model, parent) => {
      const provider = providerBelow(parent, model, { settings, environment });
      const chosen = chooseModel({ settings: { ...settings, model, provider }, environment, clock, flags: {} });
      const by = provider === parent ? "the parent agent" : "its model";
      return { ...chosen, reason: chosen.reason.replace("settings.provider", by) };
    },
    namesOfModel: (model) => namesOfModel(model, settings.providers ?? {}, environment),
    connect: (uses, client) => servers.connect(uses, client),
    openCopy: (agentId, definition, cwd) => openCopy(parts, { agentId, definition, cwd }),
    hooksFor: async (definition) => hooks.forAgent(definition),
    checkOutput: (schema) => {
      try {
        // The validator adds properties to a schema, but definitions are frozen.
        return { ok: true, check: createStructuredOutput(structuredClone(schema), undefined, "The output schema") };
      } catch (error) {
        return { ok: false, message: describeError(error) };
      }
    },
  };
}

interface CopyRequest {
  readonly agentId: AgentId;
  readonly definition: AgentDefinition;
  /** Directory to copy. */
  readonly cwd: string;
}

async function openCopy(
  { context, tools, worker }: SubagentParts,
  { agentId, definition, cwd }: CopyRequest,
): ReturnType<SubagentPorts["openCopy"]> {
  const opened = await worker.openWorktree({ agentId, cwd, scratch: isVerifier(definition), now: context.clock.now() });
  if (!opened.ok) {
    const message = `Agent "${definition.name}" needs its own worktree, which can't be created here: ${opened.message}`;
    return { ok: false, message };
  }
  const { root, top, sandboxed } = opened;
  const leave = async () => {
    const kept = await worker.leaveWorktree(agentId);
    return kept && root !== top ? { ...kept, directory: root } : kept;
  };
  try {
    const below = relative(top, root);
    const original = below === "" ? cwd : cwd.slice(0, -below.length - 1);
    return { ok: true, copy: { root, top, original, sandboxed, executor: tools.executorAt(root), leave } };
  } catch (error) {
    await leave();
    throw error;
  }
}
