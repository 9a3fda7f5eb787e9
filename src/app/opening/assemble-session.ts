import { maskAddresses, misspelledName, UserError } from "../../lib/index.ts";
import type { McpConnection, ToolSpec, WorkerSession } from "../../ports/index.ts";
import {
  canonicalToolName,
  isSameAgent,
  MAIN_AGENT,
  type Policy,
  type Rule,
  type ToolDeclaration,
} from "../../protocol/index.ts";
import {
  type BudgetSpent,
  clockLimits,
  createModelNames,
  createPrepare,
  Dispatcher,
  type LiveAgent,
  type LiveRules,
  type ModelNames,
  type Prepare,
  policyForProgram,
  type SharedServices,
  spendingIn,
  sumSpending,
  type Thread,
} from "../../runs/index.ts";
import { skillSpec } from "../../tools/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import type { LoadedAgents } from "../agents/available-agents.ts";
import type { LoadedMainAgent } from "../agents/load-agents.ts";
import { optionError } from "../check-options.ts";
import { restore } from "../session/rewind.ts";
import { createSession, type Session } from "../session/session.ts";
import { type ChosenModel, chooseSessionModel } from "../settings/choose-model.ts";
import { mayBackground, mayFork, offerDelegation, type TaskToolOf, taskAgents } from "../subagents/delegation.ts";
import { createSubagentPorts } from "../subagents/subagent-ports.ts";
import { VERSION } from "../version.ts";
import { chooseVerification, createMainAgent, createSessionBudget, mainAcceptance } from "./main-agent.ts";
import { recallUntilClosed } from "./recall-until-closed.ts";
import { createRefresh } from "./refresh-agent.ts";
import { keepOpenRequests, openApprovals, openSessionInbox } from "./session-approvals.ts";
import type { SessionContext } from "./session-context.ts";
import { createSessionHooks, type SessionHooks } from "./session-hooks.ts";
import type { SessionOptions } from "./session-options.ts";
import { attendedTools, checkChange, collectRules, modeApartFromPlan } from "./session-permissions.ts";
import { createSessionServers, type SessionServers } from "./session-servers.ts";
import { createSessionTools, type SessionTools } from "./session-tools.ts";

/** A session's transcript, its main agent's thread, and the part of the session that runs on the worker. */
export interface OpenedThread {
  readonly transcript: Transcript;
  readonly thread: Thread;
  readonly worker: WorkerSession;
  /** Messages about what an earlier process left behind. */
  readonly notices: readonly string[];
}

export interface OpenedSession extends OpenedThread {
  readonly live: LiveRules | undefined;
  readonly context: SessionContext;
  readonly main: LoadedMainAgent;
  readonly chosen: ChosenModel;
}

/** Assembles a session: MCP servers, rules, approvals, hooks, tools, the dispatcher and the main agent. */
export async function assembleSession(options: SessionOptions, opened: OpenedSession): Promise<Session> {
  const servers = createSessionServers(options, opened.context, opened);
  try {
    return await assembleWithServers(options, opened, servers);
  } catch (error) {
    await servers.close();
    throw error;
  }
}

async function assembleWithServers(
  given: SessionOptions,
  opened: OpenedSession,
  servers: SessionServers,
): Promise<Session> {
  const { context, main, chosen, transcript, thread, worker, live, notices: left } = opened;
  const { settings, clock, cwd } = context;
  const { definition, agents } = main;
  const { rules, problems } = collectRules(given, context, main.project);
  const connection = await servers.connectMain(definition?.mcpServers ?? [], given.signal);
  if (given.signal?.aborted)
    throw new UserError("Interrupted before the run began.", {
      code: "interrupted",
      fix: "The signal was aborted. To try again, pass a new signal.",
      exitCode: 130,
    });
  const inbox = openSessionInbox(given, context, transcript);
  const options = keepOpenRequests(given, inbox);
  const approvals = openApprovals(options, context, { inbox, worker, live });
  const hooks = createSessionHooks(options, context, {
    definition,
    agents,
    transcript,
    plugins: main.project.plugins,
    worker,
  });
  const shared: SharedServices = {
    sessionId: transcript.sessionId,
    version: VERSION,
    approvals,
    feed: transcript.feed,
    clock,
    environment: worker.environment,
    compactAtPercent: settings.compaction?.percent,
    agentUpdates: options.agentUpdates,
    hooks: hooks.shared,
    restoreFile: async (image) => (await restore(image, { transcript, worker })).reason,
  };
  const { dispatcher, tools, declarations, taskToolOf } = createDelegation(options, opened, {
    // `created` is assigned below, because the session is created with this dispatcher.
    idleMain: () => created.idleMain(),
    rules,
    servers,
    connection,
    hooks,
    shared,
  });
  const previousHead = thread.conversation?.head;
  const { readableRoots } = worker;
  const { toldHead: told } = thread.state;
  const toldHead = (told === undefined ? undefined : await thread.storedHead(told)) ?? previousHead;
  const parts = { context, main, chosen, tools, rules, connection, readableRoots, previousHead, toldHead, taskToolOf };
  const resolved = createMainAgent(options, parts);
  const { agent } = resolved;
  const verification = chooseVerification(settings, { policy: agent.policy, offered: dispatcher.offered() });
  if (options.resume !== undefined) await notifyLostRuns(dispatcher, hooks, agents);
  const spentBefore = options.resume === undefined ? undefined : () => spentEarlier(transcript, dispatcher);
  const created = createSession({
    transcript,
    worker,
    approvals,
    inbox,
    onTrouble: (message) => options.onTrouble?.(message),
    agent,
    thread,
    dispatcher,
    services: {
      ...shared,
      hooks: hooks.main,
      cwd,
      model: chosen.model,
      executor: tools.executor,
      budget: await createSessionBudget({
        context,
        definition,
        spentBefore,
        showsCost: options.entryPoint === "server",
      }),
      limits: clockLimits({ definition: definition ?? {}, settings, background: false, isMain: true }),
      retinue: dispatcher,
    },
    info: {
      absentTools: tools.absent,
      mcpServers: connection.servers,
      toolReport: resolved.report,
      notices: [
        ...(chosen.notice ? [chosen.notice] : []),
        ...problems,
        ...main.notices,
        ...resolved.notices,
        ...connection.problems,
        ...hooks.notices,
        ...verification.notices,
        ...tools.notices,
        ...left,
        ...transcript.problems.map(({ file, line, message }) => `${file}:${Math.max(1, line)}: ${message}`),
      ].map(maskAddresses),
    },
    runOptions: {
      waits: options.interactive !== true,
      verify: verification.verify,
      acceptance: mainAcceptance({ definition, given: options.acceptance, policy: agent.policy }),
    },
    mayBackground: mayBackground(context),
    endsWithRun: options.entryPoint === "cli" && options.interactive !== true,
    requestedMode: options.keepsMode ? undefined : options.permissionMode,
    checkMode: (permissionMode) => checkChange({ permissionMode }, { ...options, settings }),
    withModel: (model) => {
      checkChange({ model }, { ...options, settings });
      const given = { ...options, model, provider: undefined };
      const other = chooseSessionModel(given, context, definition);
      return { model: other.model, agent: createMainAgent(given, { ...parts, chosen: other }).agent };
    },
    refresh: createRefresh({ main, declarations, taskToolOf, conversationHead: () => thread.conversation?.head }),
    callback: main.callback,
    stopWaiting: context.stopWaiting,
    release: async ({ keepsCalls }) => {
      await approvals.close();
      await servers.close();
      await worker.close({ keepsCalls });
    },
  });
  return created.session;
}

interface DelegationParts {
  readonly rules: readonly Rule[];
  readonly servers: SessionServers;
  /** The main agent's MCP servers. */
  readonly connection: McpConnection;
  readonly hooks: SessionHooks;
  readonly shared: SharedServices;
  readonly idleMain: () => LiveAgent;
}

interface Delegation {
  readonly dispatcher: Dispatcher;
  readonly tools: SessionTools;
  /** Returns the session's tools with their current lists of agents and skills. */
  declarations(): readonly ToolDeclaration[];
  readonly taskToolOf: TaskToolOf;
}

/** Creates the session's tools, and the dispatcher for the agents that its delegation tools start. */
function createDelegation(
  options: SessionOptions,
  { context, main, chosen, transcript, thread, worker, live }: OpenedSession,
  { rules, servers, connection, hooks, shared, idleMain }: DelegationParts,
): Delegation {
  const { settings } = context;
  const { agents } = main;
  checkAgentTools(options, agents);
  const interactive = options.interactive === true;
  const forks = mayFork(settings, { interactive, coordinator: options.coordinator === true });
  const opened: Policy = { mode: "default", pool: [], rules, workspaceRoots: [], readableRoots: [] };
  const currentRules = () => (live?.apply(opened) ?? opened).rules;
  const offered = memoize(
    () => [agents.definitions, currentRules()],
    () =>
      taskAgents({ agents, policy: policyForProgram({ rules: currentRules() }), interactive }).map(({ name }) => name),
  );
  const dispatcher = new Dispatcher({
    shared,
    journal: transcript,
    idleMain,
    plan: { main: thread, openingMode: () => modeApartFromPlan(idleMain().agent.policy, settings) },
    mayFork: forks,
    settleLost: (agentId) => worker.leaveWorktree(agentId),
    recall: async (call) => (await recallUntilClosed(tools.executor, context)?.(call)) ?? "lost",
    offered,
    known: () => agents.definitions.flatMap(({ name, hidden }) => (hidden ? [] : [name])),
    // These are assigned later, because the tools start agents, and agents are prepared with these tools.
    prepare: (request) => prepare(request),
    modelNames: (agentType, request) => modelNames(agentType, request),
  });
  const offer = (policy: Pick<Policy, "rules" | "layers">) =>
    offerDelegation({ context, agents, policy, mayFork: forks, interactive });
  const offeredToAll = memoize(
    () => [agents.definitions, currentRules()],
    () => offer({ rules: currentRules() }),
  );
  const taskIn = (tools: readonly ToolDeclaration[]) => tools.find(({ name }) => name === "Task");
  const declarations = memoize(
    () => [agents.definitions, currentRules()],
    () => {
      const { skillCatalog } = agents;
      const current = declarationsOf([...offeredToAll(), ...(skillCatalog ? [skillSpec(skillCatalog)] : [])]);
      // Without agents, Task is not offered.
      return tools.executor
        .declarations()
        .flatMap((tool) => current.find(({ name }) => name === tool.name) ?? (tool.name === "Task" ? [] : [tool]));
    },
  );
  const taskToolOf: TaskToolOf = (policy) =>
    taskIn(policy && isAboutTask(policy) ? declarationsOf(offer(live?.apply(policy) ?? policy)) : declarations());
  const tools = createSessionTools({
    context,
    transcript,
    chosen,
    delegation: [...offeredToAll(), ...attendedTools(options, { settings, previousHead: thread.conversation?.head })],
    dispatcher,
    custom: options.tools ?? [],
    skills: agents.skillCatalog,
    connection,
    worker,
  });
  const ports = createSubagentPorts({
    context,
    agents,
    servers,
    connection,
    hooks,
    tools,
    worker,
    modelIsGiven: typeof options.model === "object",
    interactive,
    offered,
    declarations,
    taskToolOf,
  });
  const prepare: Prepare = createPrepare(ports);
  const modelNames: ModelNames = createModelNames(ports);
  return { dispatcher, tools, declarations, taskToolOf };
}

function declarationsOf(specs: readonly ToolSpec[]): readonly ToolDeclaration[] {
  return specs.map(({ declaration }) => declaration);
}

/** Returns whether a definition limits which agents an agent may start. */
function isAboutTask({ layers = [] }: Policy): boolean {
  return layers.some(({ rules }) => rules.some(({ text }) => canonicalToolName(text.replace(/\(.*$/s, "")) === "Task"));
}

/** Throws if one of the program's tools starts an agent that does not exist. */
function checkAgentTools({ tools = [], interactive }: SessionOptions, agents: LoadedAgents): void {
  for (const tool of tools) {
    if (!("agent" in tool) || agents.definitions.some(({ name }) => isSameAgent(name, tool.agent))) continue;
    const names = taskAgents({ agents, policy: { rules: [] }, interactive: interactive === true }).map(
      ({ name }) => name,
    );
    const meant = misspelledName(tool.agent, names);
    const fix = meant === undefined ? `Use one of ${names.join(", ")}.` : `Did you mean "${meant}"?`;
    throw optionError(`The tool "${tool.name}" starts the agent "${tool.agent}", which does not exist`, fix);
  }
}

/** Returns a function that computes its value again only if one of the keys has changed. */
function memoize<Value>(keysOf: () => readonly unknown[], compute: () => Value): () => Value {
  let known: { readonly keys: readonly unknown[]; readonly value: Value } | undefined;
  return () => {
    const keys = keysOf();
    if (!known?.keys.every((key, index) => key === keys[index])) known = { keys, value: compute() };
    return known.value;
  };
}

/** Runs the SubagentStop hooks that an earlier process could not run. */
async function notifyLostRuns(dispatcher: Dispatcher, hooks: SessionHooks, agents: LoadedAgents): Promise<void> {
  if (!hooks.shared && !agents.definitions.some((definition) => definition.hooks)) return;
  await dispatcher.reportLostRuns(async (agentType) => {
    const definition = (await agents.find(agentType))?.definition;
    return (definition && hooks.forAgent(definition)) ?? hooks.shared;
  });
}

/** Returns what a session and its agents spent in earlier processes. */
async function spentEarlier(transcript: Transcript, { registry }: Dispatcher): Promise<BudgetSpent> {
  const main = spendingIn(await transcript.read(MAIN_AGENT));
  return sumSpending([main, ...(await registry.earlierRuns()).map(({ spending }) => spending)]);
}
