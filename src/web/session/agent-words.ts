import { type AgentView, agentOf, type SessionView, stateOf } from "../../client/index.ts";
import { type AgentId, MAIN_AGENT } from "../../protocol/index.ts";
import type { Tone } from "../sessions/session-state.ts";

/** Returns what tells an agent from others: its name, its task, or else its type. */
export function nameOf({ name, description, agentType }: AgentView): string {
  return name || description || agentType;
}

/** Returns the type of an agent, unless that is all that there is to say about it. */
export function typeOf(agent: AgentView): string {
  return nameOf(agent) === agent.agentType ? "" : agent.agentType;
}

export function toneOf(agent: AgentView): Tone {
  const state = stateOf(agent);
  if (state === "waitingForApproval") return "asking";
  if (state === "running" || state === "waitingForAgents") return "busy";
  if (agent.end === undefined) return agent.isCutOff ? "asking" : "calm";
  return ({ succeeded: "good", incomplete: "asking", failed: "bad", stopped: "calm" } as const)[agent.end.outcome];
}

/** Names the agents from the main agent down to this one: `main › cart (general-purpose)`. */
export function pathWords(view: SessionView, path: readonly AgentId[]): string {
  const names = path.map((id) => {
    const agent = agentOf(view, id);
    if (agent === undefined) return id;
    return typeOf(agent) === "" ? agent.agentType : `${nameOf(agent)} (${agent.agentType})`;
  });
  return [MAIN_AGENT, ...names].join(" › ");
}
