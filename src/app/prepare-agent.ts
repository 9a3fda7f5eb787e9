import { platform } from "node:os";
import { limitHands, resolveSubagent } from "../agents/index.ts";
import { addTools, createHands } from "../hands/index.ts";
import { nearest } from "../lib/index.ts";
import type { Clock, Hands, McpConnection, ResultStore } from "../ports/index.ts";
import type { AgentDefinition, Rule, Settings } from "../protocol/index.ts";
import { type AgentWish, clockLimits, type PreparedAgent } from "../runs/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import { type AgentServers, withInstructions } from "./agent-servers.ts";
import type { Household, HouseholdAgent } from "./household.ts";
import { isAbout } from "./is-about.ts";
import { type Environment, existingDirectories } from "./places.ts";
import { subagentModel } from "./subagent-model.ts";

export interface Preparation {
  readonly household: Household;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly cwd: string;
  /** What there is for any agent of the session. */
  readonly tools: () => ReturnType<Hands["declarations"]>;
  /** The program gave a model of its own, and there is no other. */
  readonly modelIsGiven: boolean;
  readonly servers: AgentServers;
  /** The MCP servers that the session's own agent has. */
  readonly connection: McpConnection;
  readonly results: ResultStore;
}

/** A wish of one agent for another, as an agent ready to run; or why there is none. */
export async function prepareAgent(wish: AgentWish, preparation: Preparation): Promise<PreparedAgent> {
  const { household } = preparation;
  const { parent, agentType } = wish;
  const found = household.find(agentType);
  if (found === undefined) return { ok: false, message: unknownType(agentType, household) };
  const denial = denialOf(found.definition, parent.agent.policy.rules);
  if (denial !== undefined) return { ok: false, message: denial };
  const background = wish.background || found.definition.background === true;
  const connection = await connectOwn({ ...wish, background }, found, preparation);
  const prepared = equipAgent({ ...wish, background }, { ...preparation, found, own: connection });
  if (!prepared.ok) await connection.release();
  return prepared;
}

interface Equipment extends Preparation {
  readonly found: HouseholdAgent;
  /** The MCP servers of this agent alone. */
  readonly own: McpConnection;
}

function equipAgent(wish: AgentWish, equipment: Equipment): PreparedAgent {
  const { found, own, settings, cwd } = equipment;
  const { parent, depth, background } = wish;
  const { definition } = found;
  const { subagents = {} } = settings;
  const { model, requested, reason, notice } = subagentModel(wish, found, equipment);
  const ownTools = own.tools.map(({ declaration }) => declaration);
  const ownNames = ownTools.map(({ name }) => name);
  const resolution = resolveSubagent({
    ...found,
    superior: parent.agent.policy,
    tier: {
      background,
      depth,
      maxDepth: subagents.maxDepth ?? 1,
      mcpTools: subagents.mcpTools ?? "always",
      allowQuestions: false,
      named: wish.named,
    },
    model: model.describe(),
    requestedModel: requested,
    modelReason: reason,
    tools: [...equipment.tools().filter(({ name }) => !ownNames.includes(name)), ...ownTools],
    ownTools: ownNames,
    asked: { maxTurns: wish.maxTurns },
    settings: { effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: cwd,
    additionalDirectories: existingDirectories(settings.permissions?.additionalDirectories ?? []),
    readableRoots: existingDirectories(found.readableRoots),
    platform: platform(),
  });
  if (!resolution.ok) return resolution;
  const hands = withOwnTools(parent.hands, equipment);
  return {
    ok: true,
    agent: withInstructions(resolution.agent, [equipment.connection, own]),
    model,
    hands: resolution.limits.reduce(limitHands, hands),
    cwd,
    tools: resolution.report,
    budget: definition.budget ?? {},
    limits: clockLimits({ definition, settings, background, isMain: false }),
    background,
    notices: [...found.notices, ...resolution.notices, ...own.problems, ...(notice === undefined ? [] : [notice])],
    release: () => own.release(),
  };
}

/** Not started where settings withhold their tools anyway. */
function connectOwn(
  { agentId, background, signal }: AgentWish,
  { definition: { mcpServers = [] } }: HouseholdAgent,
  { servers, settings: { subagents: { mcpTools } = {} } }: Preparation,
): Promise<McpConnection> {
  const isOff = mcpTools === "never" || (mcpTools === "foreground" && background);
  return servers.connect(isOff ? [] : mcpServers, agentId, signal);
}

function withOwnTools(hands: Hands, { own, cwd, environment, results }: Equipment): Hands {
  if (own.tools.length === 0) return hands;
  const workspace = createLocalWorkspace({ root: cwd, environment });
  return addTools(hands, createHands({ tools: own.tools, workspace, results }));
}

/** By name, with what may have been meant: ten at most, all of them when there are no more. */
function unknownType(agentType: string, household: Household): string {
  const names = household.nearest(agentType);
  const [first] = nearest(agentType, names);
  const guess = first === undefined ? "" : ` Did you mean ${first}?`;
  return `There is no agent "${agentType}".${guess} There are ${names.join(", ")}.`;
}

/** `Task(Explore)` in a deny list: nobody gives it work, by whatever name. */
function denialOf({ name }: AgentDefinition, rules: readonly Rule[]): string | undefined {
  const rule = rules.find(({ effect, text }) => effect === "deny" && isAbout(text, name));
  return rule && `Agent "${name}" can't be used here: the ${rule.scope} rule ${rule.text} denies it.`;
}
