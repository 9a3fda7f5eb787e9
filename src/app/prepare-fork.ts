import { forkAgent } from "../agents/index.ts";
import { FORK_TYPE } from "../protocol/index.ts";
import { type AgentWish, clockLimits, type ForkWish, type PreparedAgent } from "../runs/index.ts";
import { mayBackground } from "./may-background.ts";
import { denialOf, mayDetach, type SharedPreparation } from "./preparation.ts";

/** The agent that asks for it once more, ready to go on with its own conversation. */
export function prepareFork(
  wish: AgentWish & { readonly fork: ForkWish },
  preparation: SharedPreparation,
): PreparedAgent {
  const { parent, named, before, maxTurns, acceptance, fork } = wish;
  const { settings } = preparation;
  const denial = denialOf({ name: FORK_TYPE }, parent.agent.policy);
  if (denial !== undefined) return { ok: false, message: denial };
  const { subagents = {} } = settings;
  const background = mayBackground(preparation) && wish.background;
  const { provider, model } = parent.model.describe();
  // Its own head holds as long as its model is there.
  const isSame = fork.head.provider === provider && fork.head.model === model;
  const { agent, report } = forkAgent({
    ...fork,
    parent: parent.agent,
    head: isSame ? fork.head : parent.agent.head,
    tier: {
      background,
      mcpTools: subagents.mcpTools ?? "always",
      allowQuestions: subagents.allowQuestions === "foreground",
      named,
    },
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(before === undefined ? {} : { before }),
  });
  const unknown = report.invalidTools.join(", ");
  if (unknown !== "") {
    const known = parent.agent.policy.pool.join(", ");
    return { ok: false, message: `allowed_tools names what this fork can't have: ${unknown}. There are ${known}.` };
  }
  return {
    ok: true,
    agent: { ...preparation.share(agent), head: agent.head },
    inherits: "fork",
    model: parent.model,
    hands: parent.hands,
    cwd: parent.cwd,
    tools: report,
    budget: {},
    limits: clockLimits({ definition: {}, settings, background, isMain: false, mayDetach: mayDetach(preparation) }),
    background,
    ...(acceptance === undefined ? {} : { acceptance }),
    notices: [],
    ...(parent.hooks === undefined ? {} : { hooks: parent.hooks }),
    release: async () => undefined,
  };
}
