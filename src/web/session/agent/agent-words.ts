import {
  type AgentView,
  activityWords,
  agentOf,
  endWords,
  type SessionView,
  stateOf,
  stateWords,
} from "../../../client/index.ts";
import { type AgentId, MAIN_AGENT, type PermissionMode, type SessionInfo } from "../../../protocol/index.ts";
import type { Tone } from "../../sessions/session-state.ts";

/** Returns what distinguishes an agent from others: its name, its task, or else its type. */
export function nameOf({ name, description, agentType }: Named): string {
  return name || description || agentType;
}

type Named = Pick<AgentView, "agentType"> & Partial<Pick<AgentView, "name" | "description">>;

/** Returns an agent's type, or an empty string if `nameOf` already returns it. */
export function typeOf(agent: Named): string {
  return nameOf(agent) === agent.agentType ? "" : agent.agentType;
}

export function toneOf(agent: AgentView): Tone {
  const state = stateOf(agent);
  if (state === "waitingForApproval") return "asking";
  if (["running", "delayed", "waitingForAgents"].includes(state)) return "busy";
  if (agent.end === undefined) return agent.isCutOff ? "asking" : "calm";
  return ({ succeeded: "good", incomplete: "asking", failed: "bad", stopped: "calm" } as const)[agent.end.outcome];
}

/** Returns the names of the agents from the main agent down to this one: `main › cart (general-purpose)`. */
export function pathWords(view: SessionView, path: readonly AgentId[]): string {
  return pathLabel(path.map((id) => agentOf(view, id)));
}

/** Returns the names of the main agent and the agents below it, some of which may be unknown. */
export function pathLabel(agents: readonly (Named | undefined)[]): string {
  const names = agents.map((agent) => {
    if (agent === undefined) return "…";
    return typeOf(agent) === "" ? agent.agentType : `${nameOf(agent)} (${agent.agentType})`;
  });
  return [MAIN_AGENT, ...names].join(" › ");
}

/** Returns the permission mode that applies to an agent's calls. The main agent's plan mode applies to all agents. */
export function modeOf(agent: AgentView, view: SessionView, info: SessionInfo | undefined): PermissionMode {
  const main = info?.permissionMode ?? agentOf(view, MAIN_AGENT)?.permissionMode ?? "default";
  return agent.agentId === MAIN_AGENT || main === "plan" ? main : (agent.permissionMode ?? "default");
}

/** Describes what an agent is doing. For an idle agent, says how its last run ended. */
export function doingWords(agent: AgentView): string {
  return endingWords(agent) ?? activityWords(agent);
}

/** Describes an agent's state. For an idle agent, says how its last run ended. */
export function stateLine(agent: AgentView): string {
  return endingWords(agent) ?? stateWords(agent);
}

function endingWords(agent: AgentView): string | undefined {
  const { end, isCutOff } = agent;
  if (end?.reason === "parked") return PAUSED;
  if (stateOf(agent) !== "idle" || end === undefined || isCutOff) return undefined;
  return endWords(end);
}

export const PAUSED = "paused by a server restart";

/** Replaces agent ids in text with names, and removes those that follow a name: `Explore (call sites, ID)`. */
export function withNames(text: string, view: SessionView): string {
  return text.replace(/(?:, | \()?\ba[0-9a-z]{12}\b\)?/g, (found) => {
    const id = found.replace(/^\W+|\W+$/g, "");
    const agent = agentOf(view, id as AgentId);
    if (agent === undefined) return found;
    if (found === `, ${id})`) return ")";
    return found === ` (${id})` ? "" : found.replace(id, () => nameOf(agent));
  });
}
