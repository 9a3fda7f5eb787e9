import { relative } from "node:path";
import type { Clock, McpConnection, ToolExecutor } from "../../ports/index.ts";
import type { KeptWorktree, Settings } from "../../protocol/index.ts";
import { isVerifier, type SubagentPorts } from "../../runs/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import type { Environment } from "../places.ts";
import type { SessionHooks } from "../session/session-hooks.ts";
import { chooseModel } from "../settings/choose-model.ts";
import type { SessionTools } from "../tools/session-tools.ts";
import type { AgentServers } from "./agent-servers.ts";
import { mayBackground } from "./delegation.ts";

export interface SubagentParts {
  readonly agents: LoadedAgents;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly transcript: Transcript;
  readonly servers: AgentServers;
  /** The MCP servers of the session's main agent. */
  readonly connection: McpConnection;
  readonly hooks: SessionHooks;
  /** The program supplied the only model there is. */
  readonly modelIsGiven: boolean;
  readonly interactive: boolean;
  /** The session's tools, once they are created. */
  readonly sessionTools: () => SessionTools;
}

/** What a session supplies for its subagents: models, MCP servers, working copies, hooks and tools. */
export function createSubagentPorts(parts: SubagentParts): SubagentPorts {
  const { agents, settings, environment, clock, servers, connection, hooks, modelIsGiven, interactive } = parts;
  return {
    agents,
    settings,
    home: environment["HOME"],
    interactive,
    mayBackground: mayBackground({ settings, environment }),
    tools: () => parts.sessionTools().executor.declarations(),
    get absentTools() {
      return parts.sessionTools().absent;
    },
    connection,
    modelIsGiven,
    chooseModel: (model, provider) =>
      chooseModel({ settings: { ...settings, model, provider }, environment, clock, flags: {} }),
    connect: (uses, use) => servers.connect(uses, use),
    openCopy: (agentId, definition, cwd) => openCopy(parts, { agentId, definition, cwd }),
    hooksFor: (definition) => hooks.forAgent(definition),
    addTools: async (executor, tools, root) => {
      const [{ addTools, createExecutor }, { createLocalWorkspace }] = await Promise.all([
        import("../../executor/index.ts"),
        import("../../workspace/index.ts"),
      ]);
      const workspace = createLocalWorkspace({ root, environment });
      return addTools(executor, createExecutor({ tools, workspace, results: parts.transcript.results }));
    },
  };
}

type OpenCopy = SubagentPorts["openCopy"];

async function openCopy(
  { transcript, environment, clock, sessionTools }: SubagentParts,
  {
    agentId,
    definition,
    cwd,
  }: {
    readonly agentId: Parameters<OpenCopy>[0];
    readonly definition: Parameters<OpenCopy>[1];
    readonly cwd: string;
  },
): ReturnType<OpenCopy> {
  const { openAgentWorktree, leaveWorktree } = await import("./worktrees.ts");
  const created = await openAgentWorktree({
    transcript,
    agentId,
    cwd,
    includeUncommitted: isVerifier(definition),
    environment,
    now: clock.now(),
  });
  if (!created.ok) {
    const message = `Agent "${definition.name}" needs a worktree of its own, and there can be none here: ${created.message}`;
    return { ok: false, message };
  }
  const { worktree } = created;
  const leave = (): Promise<KeptWorktree | undefined> => leaveWorktree(worktree, environment);
  try {
    const below = relative(worktree.path, worktree.directory);
    const original = below === "" ? cwd : cwd.slice(0, -below.length - 1);
    const executor: ToolExecutor = sessionTools().executorAt(worktree.directory);
    return { ok: true, copy: { root: worktree.directory, top: worktree.path, original, executor, leave } };
  } catch (error) {
    await leave();
    throw error;
  }
}
