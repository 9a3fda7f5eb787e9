import { type AgentView, agentOf, foldSession, inTreeOrder, newSessionView } from "../../client/index.ts";
import { type AgentId, MAIN_AGENT, type RunUpdate } from "../../protocol/index.ts";

/** The agents of a run, computed from its updates. */
export interface AgentViews {
  observe(update: RunUpdate): void;
  /** Undefined before the first update. */
  readonly main: AgentView | undefined;
  get(agentId: AgentId): AgentView | undefined;
  /** Returns the subagents depth first, siblings in the order they started. */
  inOrder(): readonly AgentView[];
  /** Number of subagents. */
  readonly size: number;
}

export function createAgentViews(): AgentViews {
  // The command line prints messages and calls immediately, so the view need not keep them.
  let view = newSessionView({ keep: 0 });
  return {
    observe: (update) => {
      const isOwn = update.type !== "subagent.event";
      view = foldSession(view, isOwn ? { agentId: MAIN_AGENT, event: update } : update);
    },
    get main() {
      return agentOf(view, MAIN_AGENT);
    },
    get: (agentId) => agentOf(view, agentId),
    inOrder: () => inTreeOrder(view).filter(({ agentId }) => agentId !== MAIN_AGENT),
    get size() {
      return view.agents.length - (agentOf(view, MAIN_AGENT) === undefined ? 0 : 1);
    },
  };
}
