import { platform } from "node:os";
import { createResolving, createSharing } from "../agents/index.ts";
import { addTools, createHands } from "../hands/index.ts";
import { describeError, nearest, UserError } from "../lib/index.ts";
import type { Hands, McpConnection } from "../ports/index.ts";
import type { AgentDefinition, Policy } from "../protocol/index.ts";
import { type AgentWish, clockLimits, type PreparedAgent, type ReadyAgent } from "../runs/index.ts";
import { createLocalWorkspace } from "../workspace/index.ts";
import {
  type AgentPlace,
  freeInCopy,
  inCopy,
  isVerification,
  keepAway,
  type OpenedPlace,
  openAgentPlace,
} from "./agent-place.ts";
import { withInstructions } from "./agent-servers.ts";
import { offeredAgents } from "./delegation.ts";
import type { Household, HouseholdAgent } from "./household.ts";
import { launchGrants } from "./launch-grants.ts";
import { mayBackground } from "./may-background.ts";
import { existingDirectories } from "./places.ts";
import { denialOf, mayDetach, type Preparation, type SharedPreparation } from "./preparation.ts";
import { prepareFork } from "./prepare-fork.ts";
import { subagentModel } from "./subagent-model.ts";
import { callBack } from "./with-callback.ts";

/** A wish of one agent for another, as an agent ready to run; or why there is none. */
export type Preparer = (wish: AgentWish) => Promise<PreparedAgent>;

export function preparerOf(preparation: Preparation): Preparer {
  const shared = { ...preparation, share: createSharing(), resolve: createResolving() };
  return (wish) => prepareAgent(wish, shared);
}

async function prepareAgent(wish: AgentWish, preparation: SharedPreparation): Promise<PreparedAgent> {
  const { household } = preparation;
  const { parent, agentType, fork } = wish;
  if (fork !== undefined) return prepareFork({ ...wish, fork }, preparation);
  const found = household.find(agentType);
  if (found === undefined)
    return { ok: false, message: unknownType(agentType, { household, policy: parent.agent.policy }) };
  const denial = denialOf(found.definition, parent.agent.policy);
  if (denial !== undefined) return { ok: false, message: denial };
  const { definition } = found;
  const own = {
    ...wish,
    background: mayBackground(preparation) && (wish.background || definition.background === true),
  };
  const place = await placeFor(wish, definition, preparation);
  if (place !== undefined && !place.ok) return place;
  const at = place === undefined ? {} : { place: place.place };
  const connection = await connectOwn(own, found, { ...preparation, ...at });
  const prepared = equipAgent(own, { ...preparation, ...at, found, own: connection });
  if (!prepared.ok) {
    await connection.release();
    await place?.place.leave();
    return prepared;
  }
  const hooks = definition.hooks && (await preparation.hooks.forAgent(definition));
  return hooks ? { ...prepared, hooks } : prepared;
}

interface Equipment extends SharedPreparation {
  readonly found: HouseholdAgent;
  /** The MCP servers of this agent alone. */
  readonly own: McpConnection;
  /** Absent: it works where its superior does. */
  readonly place?: AgentPlace;
}

function equipAgent(wish: AgentWish, equipment: Equipment): PreparedAgent {
  const { found, own, settings, place, environment } = equipment;
  const { parent, depth, background } = wish;
  const root = place?.root ?? parent.cwd;
  const above = parent.agent.lends ?? parent.agent.policy;
  const superior = place ? inCopy(above, place, environment["HOME"]) : above;
  const { definition } = found;
  const { subagents = {} } = settings;
  const { model, requested, reason, notice } = subagentModel(wish, found, equipment);
  const ownTools = own.tools.map(({ declaration }) => declaration);
  const ownNames = ownTools.map(({ name }) => name);
  const prompt = promptFor(found, root);
  if (typeof prompt !== "string") return prompt;
  const resolution = equipment.resolve({
    ...found,
    prompt,
    superior,
    tier: {
      background,
      depth,
      maxDepth: subagents.maxDepth ?? 1,
      mcpTools: subagents.mcpTools ?? "always",
      allowQuestions: subagents.allowQuestions === "foreground",
      ...(subagents.blockedTools === undefined ? {} : { blockedTools: subagents.blockedTools }),
      named: wish.named,
    },
    model: model.describe(),
    requestedModel: requested,
    modelReason: reason,
    // The very list of the session where nothing is added: agents of one kind are found to be that at once.
    tools:
      ownTools.length === 0
        ? equipment.tools()
        : [...equipment.tools().filter(({ name }) => !ownNames.includes(name)), ...ownTools],
    absentTools: equipment.absentTools,
    ownTools: ownNames,
    ...(wish.before === undefined ? {} : { before: wish.before }),
    asked: { maxTurns: wish.maxTurns },
    settings: { effort: settings.effort, maxTurns: settings.maxTurns },
    workspaceRoot: root,
    additionalDirectories: place ? [] : above.workspaceRoots.slice(1),
    readableRoots: existingDirectories(found.readableRoots),
    platform: platform(),
  });
  if (!resolution.ok) return resolution;
  const acceptance = wish.acceptance ?? definition.acceptance;
  const isFree = place !== undefined && isVerification(definition);
  const agent = withInstructions(resolution.agent, [equipment.connection, own]);
  return {
    ok: true,
    agent: equipment.share(isFree ? { ...agent, policy: freeInCopy(agent.policy, above) } : agent),
    model,
    hands: handsFor(parent.hands, { ...equipment, root }),
    cwd: root,
    tools: resolution.report,
    budget: definition.budget ?? {},
    limits: clockLimits({ definition, settings, background, isMain: false, mayDetach: mayDetach(equipment) }),
    background,
    ...(settings.background?.preapprove ? { grants: launchGrants(definition) } : {}),
    ...(definition.forkContext ? { inherits: "context" } : {}),
    ...(acceptance === undefined ? {} : { acceptance }),
    ...followUpOf(found),
    notices: [...found.notices, ...resolution.notices, ...own.problems, ...(notice === undefined ? [] : [notice])],
    release: async () => {
      await own.release();
      return place?.leave();
    },
  };
}

/** One that a program writes may fail; then there is no agent, and who wanted it goes on. */
function promptFor(found: HouseholdAgent, cwd: string): string | Exclude<PreparedAgent, ReadyAgent> {
  try {
    return found.prompt(cwd);
  } catch (error) {
    const what =
      error instanceof UserError ? "" : `The prompt of agent "${found.definition.name}" could not be written: `;
    return { ok: false, message: `${what}${describeError(error)}` };
  }
}

function followUpOf({ definition: { name }, callback }: HouseholdAgent): Pick<ReadyAgent, "followUp"> {
  return callback === undefined ? {} : { followUp: (result) => callBack(callback, result, { agentType: name }) };
}

/** By the call or the definition. */
async function placeFor(
  { agentId, isolation, parent: { cwd } }: AgentWish,
  definition: AgentDefinition,
  { transcript, environment, clock, handsAt }: Preparation,
): Promise<OpenedPlace | undefined> {
  if ((isolation ?? definition.isolation) === undefined) return undefined;
  return openAgentPlace({ agentId, definition, cwd, transcript, environment, clock, handsAt });
}

/** Not started where settings withhold their tools anyway. */
function connectOwn(
  { agentId, background, signal, parent }: AgentWish,
  { definition: { mcpServers = [] } }: HouseholdAgent,
  { servers, settings: { subagents: { mcpTools } = {} }, place }: Pick<Equipment, "servers" | "settings" | "place">,
): Promise<McpConnection> {
  const isOff = mcpTools === "never" || (mcpTools === "foreground" && background);
  const root = place?.root ?? parent.cwd;
  return servers.connect(isOff ? [] : mcpServers, { owner: agentId, signal, root });
}

interface HandsParts extends Equipment {
  readonly root: string;
}

/** Those of its superior, or others in a place of its own. */
function handsFor(above: Hands, { own, place, found, root, environment, transcript }: HandsParts): Hands {
  const base = place && isVerification(found.definition) ? keepAway(place.hands, place) : (place?.hands ?? above);
  if (own.tools.length === 0) return base;
  const workspace = createLocalWorkspace({ root, environment });
  return addTools(base, createHands({ tools: own.tools, workspace, results: transcript.results }));
}

/** By name, with what may have been meant: ten at most, all of them when there are no more, none that can't be asked. */
function unknownType(
  agentType: string,
  { household, policy }: { readonly household: Household; readonly policy: Policy },
): string {
  const offered = new Set(offeredAgents(household, policy).map(({ name }) => name));
  const names = household
    .nearest(agentType, household.definitions.length)
    .filter((name) => offered.has(name))
    .slice(0, 10);
  const [first] = nearest(agentType, names);
  const guess = first === undefined ? "" : ` Did you mean ${first}?`;
  return `There is no agent "${agentType}".${guess} There are ${names.join(", ")}.`;
}
