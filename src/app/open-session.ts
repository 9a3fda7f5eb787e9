import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentResolution, resolvePlain } from "../agents/index.ts";
import { newSessionId, sweepTagged, UserError } from "../lib/index.ts";
import type { Approvals, Clock, Model } from "../ports/index.ts";
import {
  type AgentBudget,
  type AgentDefinition,
  type Effort,
  MAIN_AGENT,
  type PermissionMode,
  type Rule,
  type SessionId,
  type Settings,
} from "../protocol/index.ts";
import { clockLimits, createBudget, Dispatcher, Thread } from "../runs/index.ts";
import {
  createMemorySession,
  createSession,
  openSession as openTranscript,
  type Session as Transcript,
} from "../transcript/index.ts";
import type { CatalogPlace } from "./agent-catalog.ts";
import { type AgentServers, createAgentServers, withInstructions } from "./agent-servers.ts";
import { type ChosenModel, chooseModel } from "./choose-model.ts";
import type { AgentCallback } from "./define-agent.ts";
import { offerDelegation, offeredAgents } from "./delegation.ts";
import { type Equipped, equip } from "./equip.ts";
import type { GatheredAgent } from "./gather-agent.ts";
import { gatherDefined } from "./gather-defined.ts";
import { checkMode, environmentFor } from "./heed-settings.ts";
import { holdLimits } from "./hold-limits.ts";
import { type Environment, existingDirectories, stateDirectory, workspaceDirectory } from "./places.ts";
import { collectRules } from "./rules.ts";
import { createSessionOf, type Session } from "./session.ts";
import { systemClock } from "./system-clock.ts";
import { VERSION } from "./version.ts";

export interface SessionOptions {
  /** The workspace; the current directory if absent. */
  readonly cwd?: string;
  /** State directory; `RETINUE_HOME` or `~/.retinue` if absent. `false` keeps nothing on disk. */
  readonly home?: string | false;
  readonly environment?: Environment;
  readonly settings?: Settings;
  /** Where the settings came from, for messages about their rules. */
  readonly settingsFile?: string;
  /** The rules of the settings with their scopes, as `loadProjectSettings` gives them, instead of their lists. */
  readonly rules?: readonly Rule[];
  /** What the settings say about the agents there are, as `loadProjectSettings` gives it; absent: read from the files. */
  readonly catalogSettings?: CatalogPlace["settings"];
  /** Which agent works; if absent, the one that worked before, in a new session the main agent (`main`). */
  readonly agent?: string;
  /** Agents for this session, by name: made with `defineAgent`, or in the form of the settings key `agents`. */
  readonly agents?: Readonly<Record<string, unknown>>;
  /**
   * Whether the workspace's own agents, skills and instructions (AGENTS.md, CLAUDE.md) count, beside the user's. Absent:
   * for a named agent what the user trusts counts; the main agent has no instructions from files.
   */
  readonly trusted?: boolean;
  /** How the program was entered, for agents that are there only for people at a command line; `sdk` if absent. */
  readonly entryPoint?: string;
  readonly provider?: string;
  readonly model?: string | Model;
  readonly effort?: Effort;
  readonly permissionMode?: PermissionMode;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly maxTurns?: number;
  /** The whole id of a session to go on with. */
  readonly resume?: SessionId;
  /** Who answers when a rule says `ask`. Absent: nobody, so such calls are denied with the reason. */
  readonly approvals?: Approvals;
  readonly clock?: Clock;
  /** Something is wrong that may pass (a full disk); the session waits and goes on. */
  readonly onTrouble?: (message: string) => void;
}

/** Opens a new session, or an old one to go on with. Throws a `UserError` for what a person must repair. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const { clock = systemClock, settings = {} } = options;
  const environment = environmentFor(settings, options.environment ?? process.env);
  checkMode(settings, options.permissionMode);
  const cwd = workspaceDirectory(options.cwd ?? process.cwd());
  const surroundings = { environment, clock, settings, cwd };
  let files = options.resume === undefined ? undefined : await openThread(options, surroundings);
  try {
    const defined = await gatherDefined(options, { ...surroundings, before: files?.thread.agentType });
    const chosen = choose(options, surroundings, defined.gathered.definition);
    // Only now: a session that can't begin leaves no files.
    files ??= await openThread(options, surroundings);
    return await furnish(options, { ...surroundings, ...files, ...defined, chosen });
  } catch (error) {
    await files?.transcript.close();
    throw error;
  }
}

interface Surroundings {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly cwd: string;
}

interface Opened extends Surroundings {
  readonly gathered: GatheredAgent;
  readonly callback?: AgentCallback;
  readonly chosen: ChosenModel;
  readonly transcript: Transcript;
  readonly thread: Thread;
}

/** Tools, policy and the agent, on files that are open. */
async function furnish(options: SessionOptions, opened: Opened): Promise<Session> {
  const { environment, clock, settings, cwd, transcript } = opened;
  const servers = createAgentServers({
    root: cwd,
    configured: settings.mcpServers ?? {},
    // Who reads no files of the user has no plugins of the user.
    ...(options.trusted === undefined ? {} : { pluginHome: options.home || stateDirectory(environment) }),
    environment,
    clock,
    sessionId: transcript.sessionId,
  });
  try {
    return await assemble(options, { ...opened, servers });
  } catch (error) {
    await servers.close();
    throw error;
  }
}

async function assemble(
  options: SessionOptions,
  { servers, ...opened }: Opened & { readonly servers: AgentServers },
): Promise<Session> {
  const { environment, clock, settings, cwd, chosen, transcript, thread } = opened;
  const { rules, problems } = await collectRules(settings.permissions ?? {}, options, options.settingsFile);
  const outputDirectory = directoryOf(transcript);
  const { shelf } = opened.gathered;
  const skills = shelf ? { skills: shelf } : {};
  const { household } = opened.gathered;
  const { subagents = {} } = settings;
  const compactAtPercent = settings.compaction?.percent;
  const approvals = options.approvals ?? nobody;
  const { sessionId } = transcript;
  const connection = await servers.connectMain(opened.gathered.definition?.mcpServers ?? []);
  const dispatcher: Dispatcher = new Dispatcher({
    sessionId,
    version: VERSION,
    approvals,
    clock,
    compactAtPercent,
    journal: transcript,
    offered: () => offeredAgents(household, rules).map(({ name }) => name),
    prepare: async (wish) => {
      const { prepareAgent } = await import("./prepare-agent.ts");
      const tools = () => equipped.hands.declarations();
      const modelIsGiven = typeof options.model === "object";
      const shared = { household, settings, environment, clock, tools, modelIsGiven, servers, connection, transcript };
      return prepareAgent(wish, { ...shared, handsAt: equipped.handsAt });
    },
  });
  const delegation = { faces: offerDelegation({ household, settings, environment, rules }), dispatcher };
  const equipment = { root: cwd, transcript, outputDirectory, settings, environment, chosen, delegation, ...skills };
  const equipped: Equipped = equip({ ...equipment, serverTools: connection.tools });
  const { absent } = equipped;
  const resolution = await resolve(options, { ...opened, equipped, rules, outputDirectory });
  if (!resolution.ok) throw new UserError(resolution.message, { code: "agent", exitCode: 2 });
  const agent = withInstructions(resolution.agent, [connection]);
  checkMode(settings, agent.policy.mode);
  const hands = holdLimits(equipped.hands, resolution.limits);
  // Who configured a search that can't work wants to know; who configured none does not.
  const asked = settings.search === undefined || settings.search.engine === "off" ? [] : absent;
  const damage = transcript.problems.map(({ message }) => message);
  const { model, notice } = chosen;
  return createSessionOf({
    transcript,
    agent,
    thread,
    absentTools: absent,
    mcpServers: connection.servers,
    toolReport: resolution.report,
    ...(opened.callback === undefined ? {} : { callback: opened.callback }),
    notices: [
      ...(notice ? [notice] : []),
      ...problems,
      ...opened.gathered.notices,
      ...resolution.notices,
      ...connection.problems,
      ...asked.map(({ reason }) => reason),
      ...damage,
    ],
    dispatcher,
    release: () => servers.close(),
    services: {
      sessionId,
      version: VERSION,
      cwd,
      model,
      hands,
      approvals,
      clock,
      budget: createBudget({
        limits: tightest(settings.budget ?? {}, opened.gathered.definition?.budget ?? {}),
        maxSpawns: subagents.maxSpawns,
        clock,
      }),
      limits: clockLimits({ definition: opened.gathered.definition ?? {}, settings, background: false, isMain: true }),
      compactAtPercent,
      retinue: dispatcher,
    },
  });
}

interface Furniture extends Opened {
  readonly equipped: Equipped;
  readonly rules: readonly Rule[];
  readonly outputDirectory: string;
}

async function resolve(options: SessionOptions, furniture: Furniture): Promise<AgentResolution> {
  const { settings, cwd, chosen, gathered, equipped, rules, outputDirectory } = furniture;
  const { permissions = {} } = settings;
  const { maxTokensField } = chosen.provider ?? {};
  const request = {
    ...gathered,
    model: chosen.model.describe(),
    requestedModel: chosen.requested,
    modelReason: chosen.reason,
    ...(maxTokensField ? { maxTokensField } : {}),
    tools: equipped.hands.declarations(),
    absentTools: equipped.absent,
    rules,
    asked: { mode: options.permissionMode, effort: options.effort, maxTurns: options.maxTurns },
    settings: { mode: permissions.defaultMode, effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: cwd,
    additionalDirectories: existingDirectories(permissions.additionalDirectories ?? []),
    readableRoots: [outputDirectory, ...existingDirectories(gathered.readableRoots)],
    platform: platform(),
  };
  if (gathered.definition === undefined && rules.length === 0) return resolvePlain(request);
  const { resolveAgent } = await import("../agents/index.ts");
  return resolveAgent(request);
}

/** Of each limit the smaller. */
function tightest(left: AgentBudget, right: AgentBudget): AgentBudget {
  const merged: Record<string, number> = { ...left };
  for (const [limit, amount] of Object.entries(right)) merged[limit] = Math.min(amount, merged[limit] ?? amount);
  return merged;
}

/** Where the session keeps its own files, beside its transcript. */
function directoryOf({ path, sessionId }: Transcript): string {
  return path?.replace(/\.jsonl$/, "") ?? join(tmpdir(), `retinue-${sessionId}`);
}

const nobody: Approvals = {
  ask: async () => ({ answer: "deny", by: "nobody to ask" }),
};

function choose(
  options: SessionOptions,
  { settings, environment, clock }: Surroundings,
  agent: AgentDefinition | undefined,
): ChosenModel {
  const { model, provider } = options;
  if (typeof model === "object") return { model, requested: null, reason: "given by the program" };
  return chooseModel({
    settings,
    environment,
    clock,
    flags: { ...(provider ? { provider } : {}), ...(model ? { model } : {}) },
    ...(agent ? { agent } : {}),
  });
}

async function openThread(
  options: SessionOptions,
  surroundings: Surroundings,
): Promise<{ readonly transcript: Transcript; readonly thread: Thread }> {
  const transcript = await openFiles(options, surroundings);
  try {
    const thread = new Thread(MAIN_AGENT, transcript);
    // The lock says that nobody else has this session: what still carries its tag was left by a process that was killed.
    if (transcript.leftOpen) await sweepTagged(transcript.sessionId);
    if (options.resume !== undefined) await thread.restore();
    return { transcript, thread };
  } catch (error) {
    await transcript.close();
    throw error;
  }
}

async function openFiles(
  { resume, home, onTrouble }: SessionOptions,
  { cwd, environment, clock }: Surroundings,
): Promise<Transcript> {
  const sessionId = resume ?? newSessionId();
  if (home === false) return createMemorySession({ cwd, sessionId, clock });
  const trouble = onTrouble ? { onTrouble: ({ message }: { message: string }) => onTrouble(message) } : {};
  const files = { home: home ?? stateDirectory(environment), cwd, sessionId, clock, ...trouble };
  return resume === undefined ? createSession(files) : openTranscript(files);
}
