import { matchAgentId } from "../../lib/index.ts";
import { type AgentId, type CallId, callsOf, MAIN_AGENT, type RunUpdate } from "../../protocol/index.ts";
import { parsed } from "../formats/wire-blocks.ts";
import { type AgentView, foldAgent, newAgentView } from "./agent-view.ts";

/** Subagents of a run, computed from its updates. */
export interface AgentViews {
  observe(update: RunUpdate, now: number): void;
  get(agentId: AgentId): AgentView | undefined;
  /** Returns the agents depth first, siblings in the order in which they started. */
  inOrder(): readonly AgentView[];
  readonly size: number;
}

/** A call that resumes an agent. The agent's own events do not say which call that is. */
interface Resumption {
  readonly by: AgentId;
  readonly callId: CallId;
  /** Id of the agent, or the start or end of its id. */
  readonly id: string;
  readonly description: string;
}

export function createAgentViews(): AgentViews {
  const views = new Map<AgentId, AgentView>();
  const resumptions: Resumption[] = [];
  return {
    observe: (update, now) => {
      if (update.type === "model.ended") resumptions.push(...resumptionsIn(update, MAIN_AGENT));
      if (update.type !== "subagent.event") return;
      const { agentId, event, path } = update;
      if (event.type === "model.ended") resumptions.push(...resumptionsIn(event, agentId));
      const before = views.get(agentId) ?? newAgentView(update, now);
      let view = foldAgent(before, event, now);
      if (event.type === "run.started" && event.kind === "resume") {
        const by = path.at(-2) ?? MAIN_AGENT;
        const call = resumptions.findLast((each) => each.by === by && matchAgentId([agentId], each.id).kind === "one");
        if (call) view = { ...view, callId: call.callId, description: view.description || call.description };
      }
      views.set(agentId, view);
    },
    get: (agentId) => views.get(agentId),
    inOrder: () => inTreeOrder([...views.values()]),
    get size() {
      return views.size;
    },
  };
}

function inTreeOrder(views: readonly AgentView[]): readonly AgentView[] {
  const known = new Set(views.map(({ agentId }) => agentId));
  const children = new Map<AgentId, AgentView[]>();
  for (const view of views) {
    const parent = view.path.at(-2);
    const at = parent !== undefined && known.has(parent) ? parent : MAIN_AGENT;
    const siblings = children.get(at) ?? [];
    siblings.push(view);
    children.set(at, siblings);
  }
  const below = (agentId: AgentId): AgentView[] =>
    (children.get(agentId) ?? []).flatMap((view) => [view, ...below(view.agentId)]);
  return below(MAIN_AGENT);
}

function resumptionsIn({ message }: Extract<RunUpdate, { type: "model.ended" }>, by: AgentId): Resumption[] {
  return callsOf(message).flatMap(({ callId, inputJson }) => {
    if (!inputJson.includes('"resume"')) return [];
    const { resume, description } = Object(parsed(inputJson)) as { resume?: unknown; description?: unknown };
    if (typeof resume !== "string" || resume === "") return [];
    return [{ by, callId, id: resume, description: typeof description === "string" ? description : "" }];
  });
}
