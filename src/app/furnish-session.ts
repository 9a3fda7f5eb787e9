import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../lib/index.ts";
import type { McpConnection, ToolFace } from "../ports/index.ts";
import type { AgentDefinition, AgentId, KeptWorktree, Rule, Settings } from "../protocol/index.ts";
import { clockLimits, Dispatcher } from "../runs/index.ts";
import type { Session as Transcript } from "../transcript/index.ts";
import { type AgentServers, createAgentServers, withInstructions } from "./agent-servers.ts";
import { askAboutGit } from "./ask-about-git.ts";
import { chooseVerification } from "./choose-verification.ts";
import { coordinate } from "./coordinate.ts";
import { offerDelegation, offeredAgents } from "./delegation.ts";
import { type Equipped, equip } from "./equip.ts";
import { mayFork } from "./fork-choice.ts";
import { checkMode } from "./heed-settings.ts";
import type { Household as Agents } from "./household.ts";
import { mainAcceptance } from "./main-acceptance.ts";
import { mayBackground } from "./may-background.ts";
import { newsFor } from "./news-for.ts";
import type { OpenedSession } from "./opened-session.ts";
import { tellOfOtherModel } from "./other-model.ts";
import { type Environment, stateDirectory } from "./places.ts";
import { modeAfterPlan, offerPlanMode } from "./plan-mode.ts";
import type { Preparer } from "./prepare-agent.ts";
import { resolveMain } from "./resolve-main.ts";
import { collectRules } from "./rules.ts";
import { createSessionOf, type Session } from "./session.ts";
import { missedAnswers, sessionApprovals } from "./session-approvals.ts";
import { sessionBudget } from "./session-budget.ts";
import { gatherHooks, type SessionHooks } from "./session-hooks.ts";
import type { SessionOptions } from "./session-options.ts";
import { VERSION } from "./version.ts";

/** Gives an opened session its MCP servers, tools, rules, agents and limits. */
export async function furnishSession(options: SessionOptions, opened: OpenedSession): Promise<Session> {
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
    return await furnish(options, { ...opened, servers });
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

async function furnish(options: SessionOptions, served: ServedSession): Promise<Session> {
  const { servers, clock, settings, cwd, chosen, transcript, gathered, callback } = served;
  const definition: Partial<AgentDefinition> = gathered.definition ?? {};
  const { sessionId } = transcript;
  const { rules, problems } = await collectRules(settings.permissions ?? {}, options, options.settingsFile);
  const connection = await servers.connectMain(definition.mcpServers ?? [], options.signal);
  if (options.signal?.aborted)
    throw new UserError("Interrupted before the run began.", { code: "interrupted", exitCode: 130 });
  const approvals = await sessionApprovals(options, served);
  const compactAtPercent = settings.compaction?.percent;
  const hooks = await gatherHooks({
    settings,
    root: cwd,
    environment: served.environment,
    transcript,
    ...(options.settingsOrigins === undefined ? {} : { origins: options.settingsOrigins }),
    ...pluginHomeOf(options, served.environment),
    ...(options.hooks === undefined ? {} : { functions: options.hooks }),
    ...(gathered.definition === undefined ? {} : { definition: gathered.definition }),
  });
  const { agentUpdates } = options;
  const shared = { sessionId, version: VERSION, approvals, clock, compactAtPercent, agentUpdates, hooks: hooks.shared };
  const modelIsGiven = typeof options.model === "object";
  const interactive = options.interactive === true;
  const { dispatcher, equipped, outputDirectory } = equipSession({
    ...served,
    rules,
    connection,
    shared,
    hooks,
    modelIsGiven,
    interactive,
    planning: offerPlanMode(options, settings),
    forks: mayFork({ settings, interactive, coordinator: options.coordinator === true }),
    tell: options.onTrouble,
  });
  const resolution = await resolveMain(options, { ...served, equipped, rules, outputDirectory });
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
  if (options.resume !== undefined) await tellOfLost(dispatcher, hooks, gathered.household);
  return createSessionOf({
    transcript,
    agent,
    thread: served.thread,
    absentTools: equipped.absent,
    mcpServers: connection.servers,
    toolReport: resolution.report,
    ...(callback === undefined ? {} : { callback }),
    notices: [
      ...(chosen.notice ? [chosen.notice] : []),
      ...(options.model === undefined ? tellOfOtherModel(served.thread.conversation?.head, agent.head) : []),
      ...problems,
      ...gathered.notices,
      ...resolution.notices,
      ...connection.problems,
      ...hooks.notices,
      ...aboutGit,
      ...aboutVerification,
      ...missedTools(settings, equipped),
      ...missedAnswers(options, hooks),
      ...transcript.problems.map(({ message }) => message),
    ],
    dispatcher,
    waits: !interactive,
    mayBackground: mayBackground(served),
    ...(options.permissionMode === undefined ? {} : { askedMode: options.permissionMode }),
    ...verification,
    ...mainAcceptance({ definition, given: options.acceptance ?? [], policy: agent.policy }),
    news: newsFor(agent, { ...gathered, thread: served.thread, rules }),
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
      hands: equipped.hands,
      budget: await sessionBudget({ settings, definition, clock, ...(options.resume ? { journal: transcript } : {}) }),
      limits: clockLimits({ definition, settings, background: false, isMain: true }),
      retinue: dispatcher,
    },
  });
}

interface Household extends ServedSession {
  readonly rules: readonly Rule[];
  readonly connection: McpConnection;
  readonly hooks: SessionHooks;
  readonly shared: Omit<
    ConstructorParameters<typeof Dispatcher>[0],
    "journal" | "prepare" | "offered" | "settleLost" | "forks"
  >;
  readonly forks: boolean;
  readonly modelIsGiven: boolean;
  readonly interactive: boolean;
  /** Tools to plan with. */
  readonly planning: readonly ToolFace[];
  readonly tell: SessionOptions["onTrouble"];
}

/** The tools of the session, and the agents behind those of delegation. */
function equipSession(place: Household): {
  readonly dispatcher: Dispatcher;
  readonly equipped: Equipped;
  readonly outputDirectory: string;
} {
  const { rules, connection, shared, hooks, modelIsGiven, interactive, forks, tell, ...served } = place;
  const { servers, environment, clock, settings, cwd, chosen, transcript, gathered } = served;
  const { household } = gathered;
  const { shelf } = household;
  let preparing: Promise<Preparer> | undefined;
  const dispatcher: Dispatcher = new Dispatcher({
    ...shared,
    journal: transcript,
    plan: { main: served.thread, after: modeAfterPlan(settings) },
    forks,
    settleLost: (agentId) => settleLostPlace(agentId, { transcript, environment }),
    offered: () => offeredAgents(household, { rules }).map(({ name }) => name),
    prepare: async (wish) => {
      preparing ??= import("./prepare-agent.ts").then(({ preparerOf }) => {
        const tools = () => equipped.hands.declarations();
        const { handsAt, absent: absentTools } = equipped;
        const session = { household, settings, environment, clock, transcript, modelIsGiven, servers, connection };
        return preparerOf({ ...session, interactive, hooks, tools, absentTools, handsAt });
      });
      return (await preparing)(wish);
    },
  });
  const outputDirectory = directoryOf(transcript);
  const equipped: Equipped = equip({
    root: cwd,
    transcript,
    outputDirectory,
    settings,
    environment,
    chosen,
    delegation: { faces: offerDelegation({ household, settings, environment, rules, forks, interactive }), dispatcher },
    ...(shelf ? { skills: shelf } : {}),
    planning: served.planning,
    serverTools: connection.tools,
    tell,
  });
  return { dispatcher, equipped, outputDirectory };
}

async function settleLostPlace(
  agentId: AgentId,
  place: Pick<ServedSession, "transcript" | "environment">,
): Promise<KeptWorktree | undefined> {
  const { settleLostWorktree } = await import("./worktrees.ts");
  return settleLostWorktree({ agentId, ...place });
}

/** Where nobody has hooks the files of the agents are not read for this. */
async function tellOfLost(dispatcher: Dispatcher, hooks: SessionHooks, household: Agents): Promise<void> {
  if (!hooks.shared && !household.definitions.some((definition) => definition.hooks)) return;
  await dispatcher.tellOfLost(async (agentType) => {
    const definition = household.find(agentType)?.definition;
    return (definition?.hooks && (await hooks.forAgent(definition))) ?? hooks.shared;
  });
}

/** Who configured a search that can't work wants to know; who configured none does not. */
function missedTools({ search }: Settings, { absent }: Equipped): readonly string[] {
  if (search === undefined || search.engine === "off") return [];
  return absent.map(({ reason }) => reason);
}

/** Where the session keeps its own files, beside its transcript. */
function directoryOf({ path, sessionId }: Transcript): string {
  return path?.replace(/\.jsonl$/, "") ?? join(tmpdir(), `retinue-${sessionId}`);
}
