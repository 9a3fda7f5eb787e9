import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../lib/index.ts";
import type { McpConnection, ToolSpec } from "../../ports/index.ts";
import {
  type AgentDefinition,
  type AgentId,
  type KeptWorktree,
  MAIN_AGENT,
  type Rule,
  type Settings,
} from "../../protocol/index.ts";
import {
  type BudgetSpent,
  clockLimits,
  createPrepare,
  Dispatcher,
  offeredAgents,
  type SharedServices,
  spendingIn,
  sumSpending,
  withInstructions,
} from "../../runs/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import { type Environment, stateDirectory } from "../places.ts";
import { type AgentServers, createAgentServers } from "../subagents/agent-servers.ts";
import { mayBackground, mayFork, offerDelegation } from "../subagents/delegation.ts";
import { createSubagentPorts } from "../subagents/subagent-ports.ts";
import { createSessionTools, type SessionTools } from "../tools/session-tools.ts";
import { VERSION } from "../version.ts";
import { askAboutGit } from "./ask-about-git.ts";
import { chooseVerification, coordinate, mainAcceptance, resolveMain, tellOfOtherModel } from "./main-agent.ts";
import { newsFor } from "./news-for.ts";
import type { OpenedSession } from "./opened-session.ts";
import { modeAfterPlan, offerPlanMode } from "./plan-mode.ts";
import { createSessionOf, type Session } from "./session.ts";
import { missedAnswers, sessionApprovals } from "./session-approvals.ts";
import { sessionBudget } from "./session-budget.ts";
import { loadSessionHooks, type SessionHooks } from "./session-hooks.ts";
import type { SessionOptions } from "./session-options.ts";
import { checkMode, collectRules } from "./session-settings.ts";

/** Gives an opened session its MCP servers, tools, rules, agents and limits. */
export async function assembleSession(options: SessionOptions, opened: OpenedSession): Promise<Session> {
  const { environment, clock, settings, cwd, transcript } = opened;
  const servers = createAgentServers({
    root: cwd,
    configured: settings.mcpServers ?? {},
    ...pluginHomeOf(options, environment),
    environment,
    clock,
    sessionId: transcript.sessionId,
    callSeconds: settings.timeouts?.mcp,
    tell: options.onTrouble,
  });
  try {
    return await assemble(options, { ...opened, servers });
  } catch (error) {
    await servers.close();
    throw error;
  }
}

/** Who reads no files of the user has no plugins of the user. */
function pluginHomeOf({ trusted, home }: SessionOptions, environment: Environment): { readonly pluginHome?: string } {
  return trusted === undefined ? {} : { pluginHome: home || stateDirectory(environment) };
}

interface ServedSession extends OpenedSession {
  readonly servers: AgentServers;
}

async function assemble(options: SessionOptions, served: ServedSession): Promise<Session> {
  const { servers, clock, settings, cwd, chosen, transcript, loaded, callback } = served;
  const definition: Partial<AgentDefinition> = loaded.definition ?? {};
  const { sessionId } = transcript;
  const { rules, problems } = await collectRules(settings.permissions ?? {}, options, options.settingsFile);
  const connection = await servers.connectMain(definition.mcpServers ?? [], options.signal);
  if (options.signal?.aborted)
    throw new UserError("Interrupted before the run began.", { code: "interrupted", exitCode: 130 });
  const approvals = await sessionApprovals(options, served);
  const compactAtPercent = settings.compaction?.percent;
  const hooks = await loadSessionHooks({
    settings,
    root: cwd,
    environment: served.environment,
    transcript,
    origins: options.settingsOrigins,
    ...pluginHomeOf(options, served.environment),
    functions: options.hooks,
    definition: loaded.definition,
  });
  const { agentUpdates } = options;
  const shared = { sessionId, version: VERSION, approvals, clock, compactAtPercent, agentUpdates, hooks: hooks.shared };
  const modelIsGiven = typeof options.model === "object";
  const interactive = options.interactive === true;
  const { dispatcher, tools, outputDirectory } = createAgents({
    ...served,
    rules,
    connection,
    shared,
    hooks,
    modelIsGiven,
    interactive,
    planning: offerPlanMode(options, settings),
    mayFork: mayFork({ settings, interactive, coordinator: options.coordinator === true }),
    tell: options.onTrouble,
  });
  const resolution = resolveMain(options, { ...served, tools, rules, outputDirectory });
  if (!resolution.ok) throw new UserError(resolution.message, { code: "agent", exitCode: 2 });
  const { policy, notices: aboutGit } = askAboutGit(
    resolution.agent.policy,
    options.trusted === true ? undefined : cwd,
  );
  const resolved = { ...resolution.agent, policy };
  const agent = withInstructions(options.coordinator ? coordinate(resolved) : resolved, [connection]);
  checkMode(settings, agent.policy.mode);
  const offered = dispatcher.offered();
  const { notices: aboutVerification, ...verification } = chooseVerification({
    settings,
    policy: agent.policy,
    offered,
  });
  if (options.resume !== undefined) await tellOfLost(dispatcher, hooks, loaded.agents);
  return createSessionOf({
    transcript,
    agent,
    thread: served.thread,
    absentTools: tools.absent,
    mcpServers: connection.servers,
    toolReport: resolution.report,
    callback,
    notices: [
      ...(chosen.notice ? [chosen.notice] : []),
      ...(options.model === undefined ? tellOfOtherModel(served.thread.conversation?.head, agent.head) : []),
      ...problems,
      ...loaded.notices,
      ...resolution.notices,
      ...connection.problems,
      ...hooks.notices,
      ...aboutGit,
      ...aboutVerification,
      ...missedTools(settings, tools),
      ...missedAnswers(options, hooks),
      ...transcript.problems.map(({ message }) => message),
    ],
    dispatcher,
    waits: !interactive,
    mayBackground: mayBackground(served),
    askedMode: options.permissionMode,
    ...verification,
    ...mainAcceptance({ definition, given: options.acceptance ?? [], policy: agent.policy }),
    news: newsFor(agent, { ...loaded, thread: served.thread, rules }),
    release: async () => {
      await approvals.close();
      await hooks.close();
      await servers.close();
    },
    services: {
      ...shared,
      hooks: hooks.main,
      cwd,
      model: chosen.model,
      executor: tools.executor,
      budget: await sessionBudget({
        settings,
        definition,
        clock,
        spentBefore: options.resume ? () => spentBefore(transcript, dispatcher) : undefined,
      }),
      limits: clockLimits({ definition, settings, background: false, isMain: true }),
      retinue: dispatcher,
    },
  });
}

interface AgentParts extends ServedSession {
  readonly rules: readonly Rule[];
  readonly connection: McpConnection;
  readonly hooks: SessionHooks;
  readonly shared: SharedServices;
  readonly mayFork: boolean;
  readonly modelIsGiven: boolean;
  readonly interactive: boolean;
  /** Tools for plan mode. */
  readonly planning: readonly ToolSpec[];
  readonly tell: SessionOptions["onTrouble"];
}

/** Creates the session's tools, and the dispatcher of the agents that its delegation tools start. */
function createAgents(parts: AgentParts): {
  readonly dispatcher: Dispatcher;
  readonly tools: SessionTools;
  readonly outputDirectory: string;
} {
  const { rules, connection, shared, mayFork: forks, interactive } = parts;
  const { environment, settings, cwd, chosen, transcript, loaded } = parts;
  const { agents } = loaded;
  const ports = createSubagentPorts({ ...parts, agents, sessionTools: () => tools });
  const dispatcher = new Dispatcher({
    shared,
    journal: transcript,
    plan: { main: parts.thread, after: modeAfterPlan(settings) },
    mayFork: forks,
    settleLost: (agentId) => settleLostPlace(agentId, { transcript, environment }),
    offered: () => offeredAgents(agents, { rules }).map(({ name }) => name),
    prepare: createPrepare(ports),
  });
  const outputDirectory = directoryOf(transcript);
  const tools = createSessionTools({
    root: cwd,
    transcript,
    outputDirectory,
    settings,
    environment,
    chosen,
    delegation: [...offerDelegation({ agents, settings, environment, rules, forks, interactive }), ...parts.planning],
    dispatcher,
    skills: agents.shelf,
    serverTools: connection.tools,
    tell: parts.tell,
  });
  return { dispatcher, tools, outputDirectory };
}

async function settleLostPlace(
  agentId: AgentId,
  place: Pick<ServedSession, "transcript" | "environment">,
): Promise<KeptWorktree | undefined> {
  const { settleLostWorktree } = await import("../subagents/worktrees.ts");
  return settleLostWorktree({ agentId, ...place });
}

/** Where nobody has hooks the files of the agents are not read for this. */
async function tellOfLost(dispatcher: Dispatcher, hooks: SessionHooks, agents: LoadedAgents): Promise<void> {
  if (!hooks.shared && !agents.definitions.some((definition) => definition.hooks)) return;
  await dispatcher.reportLostRuns(async (agentType) => {
    const definition = agents.find(agentType)?.definition;
    return (definition?.hooks && (await hooks.forAgent(definition))) ?? hooks.shared;
  });
}

/** Who configured a search that can't work wants to know; who configured none does not. */
function missedTools({ search }: Settings, { absent }: SessionTools): readonly string[] {
  if (search === undefined || search.engine === "off") return [];
  return absent.map(({ reason }) => reason);
}

/** Where the session keeps its own files, beside its transcript. */
function directoryOf({ path, sessionId }: Transcript): string {
  return path?.replace(/\.jsonl$/, "") ?? join(tmpdir(), `retinue-${sessionId}`);
}

/** What a session and its agents spent in earlier processes. */
async function spentBefore(transcript: Transcript, { registry }: Dispatcher): Promise<BudgetSpent> {
  const main = spendingIn(await transcript.read(MAIN_AGENT));
  return sumSpending([main, ...(await registry.earlierRuns()).map(({ spending }) => spending)]);
}
