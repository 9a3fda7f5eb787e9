import { coordinatorPrompt, coordinatorRole, mainAgent, type ResolvedAgent, resolveAgent } from "../../agents/index.ts";
import { UserError } from "../../lib/index.ts";
import type { McpConnection } from "../../ports/index.ts";
import {
  type AgentBudget,
  type AgentDefinition,
  FORK_TYPE,
  type Head,
  isKnownTool,
  type Policy,
  type Rule,
  type Settings,
  type ToolReport,
  VERIFIER,
} from "../../protocol/index.ts";
import {
  type Acceptance,
  type Budget,
  type BudgetSpent,
  createBudget,
  declaredTypes,
  withInstructions,
} from "../../runs/index.ts";
import type { LoadedMainAgent } from "../agents/load-agents.ts";
import type { ChosenModel } from "../settings/choose-model.ts";
import { type TaskToolOf, withTaskTool } from "../subagents/delegation.ts";
import type { SessionContext } from "./session-context.ts";
import type { SessionOptions } from "./session-options.ts";
import { askAboutGit, checkMode } from "./session-permissions.ts";
import type { SessionTools } from "./session-tools.ts";

export interface MainAgentParts {
  readonly context: SessionContext;
  readonly main: LoadedMainAgent;
  readonly chosen: ChosenModel;
  readonly tools: SessionTools;
  /** Directories outside the workspace that all of the session's agents may read. */
  readonly readableRoots: readonly string[];
  readonly rules: readonly Rule[];
  /** The main agent's MCP servers. */
  readonly connection: McpConnection;
  /** Head of the resumed conversation. */
  readonly previousHead: Head | undefined;
  /** Head up to which the resumed conversation describes changes. */
  readonly toldHead: Head | undefined;
  readonly taskToolOf: TaskToolOf;
}

export interface MainAgent {
  readonly agent: ResolvedAgent;
  readonly report: ToolReport;
  readonly notices: readonly string[];
}

/** Resolves a session's main agent. Throws a `UserError` if it can't run. */
export function createMainAgent(options: SessionOptions, parts: MainAgentParts): MainAgent {
  const { context, main, connection, previousHead, toldHead } = parts;
  const resolution = resolveMain(options, parts);
  if (!resolution.ok) throw new UserError(resolution.message, { code: "agent", exitCode: 2 });
  const { agent: resolved, report, notices } = resolution;
  const cautious = askAboutGit(resolved.policy, main.project.gitPrograms);
  const restricted = withTaskTool({ ...resolved, policy: cautious.policy }, parts.taskToolOf);
  const agent = withInstructions(options.coordinator ? coordinatorOf(restricted) : restricted, [connection]);
  checkMode(context.settings, agent.policy.mode);
  const aboutModel = options.model === undefined ? modelChangeNotices(previousHead, agent.head) : [];
  return {
    agent,
    report,
    notices: [
      ...aboutModel,
      ...goneAgents(toldHead, main.agents.definitions),
      ...goneTools(toldHead, parts.tools),
      ...notices,
      ...cautious.notices,
    ],
  };
}

function resolveMain(options: SessionOptions, parts: MainAgentParts) {
  const { context, main, chosen, tools, rules, readableRoots, previousHead } = parts;
  const { settings, cwd } = context;
  const { permissions = {} } = settings;
  return resolveAgent({
    definition: main.definition,
    prompt: mainPrompt(options, main),
    skills: main.skills,
    memory: main.memory,
    projectContext: main.projectContext,
    model: chosen.model.describe(),
    requestedModel: chosen.requested,
    modelReason: chosen.reason,
    maxTokensField: chosen.provider?.maxTokensField,
    // Changing a resumed conversation's cache lifetime would lose its cached prefix.
    cacheLifetime: settings.cache?.lifetime ?? previousHead?.cacheLifetime,
    tools: tools.executor.declarations(),
    absentTools: tools.absent,
    rules,
    asked: { mode: options.permissionMode, effort: options.effort, maxTurns: options.maxTurns },
    settings: { mode: permissions.defaultMode, effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: cwd,
    additionalDirectories: main.project.additionalDirectories,
    readableRoots: [...readableRoots, ...main.readableRoots],
  });
}

function mainPrompt(options: SessionOptions, main: LoadedMainAgent): string {
  const { systemPrompt, coordinator } = options;
  const given = typeof systemPrompt === "string" ? systemPrompt : main.prompt;
  const own = coordinator ? coordinatorPrompt : mainAgent.prompt;
  const role = coordinator && given !== undefined ? coordinatorRole : undefined;
  const added = typeof systemPrompt === "object" ? systemPrompt.append : undefined;
  return [(given ?? own).trimEnd(), role, added].filter((text) => text !== undefined).join("\n\n");
}

const delegationTools: ReadonlySet<string> = new Set(["Task", "TaskOutput", "TaskStop", "SendMessage"]);

/**
 * Restricts an agent to the delegation tools. Its subagents are limited by the policy that the agent would otherwise
 * have.
 */
function coordinatorOf(agent: ResolvedAgent): ResolvedAgent {
  const { head, policy } = agent;
  const pool = policy.pool.filter((tool) => delegationTools.has(tool));
  if (!pool.includes("Task")) {
    const fix =
      "Omit the `coordinator` option, or allow Task (check the permissions, the agent's tools and subagents.maxDepth).";
    throw new UserError("A coordinator can't delegate here", { code: "coordinator", fix, exitCode: 2 });
  }
  const tools = head.tools.filter(({ name }) => pool.includes(name));
  return {
    ...agent,
    head: { ...head, tools },
    policy: { ...policy, pool },
    childPolicy: policy,
  };
}

/** Warns that a resumed session uses a different model, which has other prices and no cached prefix. */
function modelChangeNotices(before: Head | undefined, now: Head): readonly string[] {
  if (before === undefined || before.provider === "lost") return [];
  if (before.provider === now.provider && before.model === now.model) return [];
  const [old, other] = [`${before.provider}/${before.model}`, `${now.provider}/${now.model}`];
  return [
    `This session has used the model ${old} so far and now uses ${other}. To keep using ${old}, pass the \`model: ${old}\` option.`,
  ];
}

/** Reports agents that a resumed session could start before but that no longer exist. */
function goneAgents(before: Head | undefined, definitions: readonly AgentDefinition[]): readonly string[] {
  const known = new Set([FORK_TYPE, ...definitions.map(({ name }) => name)]);
  const gone = ((before && declaredTypes(before)) ?? []).filter((name) => !known.has(name));
  return gone.map(
    (name) =>
      `The agent "${name}", which this session could start before, is missing: its file was deleted or renamed, or is no longer loaded (trust, plugins, settings).`,
  );
}

/** Reports tools that a resumed session had but that the program no longer defines. */
function goneTools(before: Head | undefined, { executor }: SessionTools): readonly string[] {
  const names = new Set(executor.declarations().map(({ name }) => name));
  const gone = (before?.tools ?? []).filter(({ name }) => !names.has(name) && !isKnownTool(name));
  return gone.map(
    ({ name }) => `The tool "${name}", which this session had before, is missing from the \`tools\` option.`,
  );
}

interface AcceptanceOptions {
  readonly definition: AgentDefinition | undefined;
  /** Commands from the options. They need no approval, because the caller supplied them. */
  readonly given: readonly string[] | undefined;
  /** The main agent's policy. */
  readonly policy: Policy;
}

/** Returns the check that the main agent's work must pass. The host runs the check, so the agent needs no shell. */
export function mainAcceptance({ definition, given = [], policy }: AcceptanceOptions): Acceptance | undefined {
  const own = definition?.acceptance === undefined ? [] : [definition.acceptance];
  const commands = [...own, ...given];
  if (commands.length === 0) return undefined;
  const pool = [...new Set([...policy.pool, "Bash"])];
  return { commands, granted: given, policy: { ...policy, pool } };
}

interface Verification {
  readonly verify: "suggest" | "auto" | undefined;
  readonly notices: readonly string[];
}

/** Decides how the main agent's work is verified, based on the `verify` setting and the agents that it can start. */
export function chooseVerification(
  { verify = "off" }: Settings,
  { policy, offered }: { readonly policy: Policy; readonly offered: readonly string[] },
): Verification {
  if (verify === "off") return { verify: undefined, notices: [] };
  const isOffered = offered.includes(VERIFIER);
  const effect = verify === "auto" ? "Work that changes files counts as not verified." : "Nothing is verified.";
  const notice = `The "verify" setting is "${verify}", but the ${VERIFIER} agent is switched off or denied here. ${effect}`;
  // An agent that can't delegate can't follow a suggestion to start the verifier.
  const isUseless = verify === "suggest" && (!isOffered || !policy.pool.includes("Task"));
  return { verify: isUseless ? undefined : verify, notices: isOffered ? [] : [notice] };
}

export interface SessionBudgetOptions {
  readonly context: SessionContext;
  /** The main agent's definition. */
  readonly definition: AgentDefinition | undefined;
  /** Returns what a resumed session has spent. Called only if needed, because it reads all transcripts. */
  readonly spentBefore?: (() => Promise<BudgetSpent>) | undefined;
  /** Whether earlier spending is needed even without limits, for `session.costUsd`. */
  readonly showsCost: boolean;
}

/**
 * Creates a session's budget, which includes what earlier processes have spent. Each limit is the lower of those in the
 * settings and in the main agent's definition.
 */
export async function createSessionBudget(options: SessionBudgetOptions): Promise<Budget> {
  const { context, definition, spentBefore, showsCost } = options;
  const { settings, clock } = context;
  const limits = lowerLimits(settings.budget ?? {}, definition?.budget ?? {});
  const budget = createBudget({ limits, maxSpawns: settings.subagents?.maxSpawns, clock });
  if (spentBefore && (showsCost || Object.keys(limits).length > 0)) budget.restore(await spentBefore());
  return budget;
}

function lowerLimits(left: AgentBudget, right: AgentBudget): AgentBudget {
  const merged = new Map<string, number>();
  for (const [limit, amount] of [...Object.entries(left), ...Object.entries(right)])
    if (amount !== undefined) merged.set(limit, Math.min(amount, merged.get(limit) ?? amount));
  return Object.fromEntries(merged);
}
