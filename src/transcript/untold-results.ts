import type { AgentId, RunId } from "../protocol/index.ts";
import { MAIN_AGENT } from "../protocol/index.ts";
import { readTranscript } from "./read-transcript.ts";
import { agentPath, type SessionPaths } from "./session-paths.ts";

/** Agents that were started in the background and whose end nobody in the session was told of. */
export function untoldResults(paths: SessionPaths, agents: readonly AgentId[]): readonly AgentId[] {
  const launched = new Map<RunId, AgentId>();
  const told = new Set<RunId>();
  for (const agent of [MAIN_AGENT, ...agents]) {
    for (const line of readTranscript(agentPath(paths, agent)).lines) {
      const launch = line.type === "tool.ended" ? line.result.facts?.launched : undefined;
      if (launch) launched.set(launch.runId, launch.agentId);
      if (line.type === "notices.delivered") for (const { runId } of line.notices) told.add(runId);
    }
  }
  return [...launched].flatMap(([runId, agentId]) => (told.has(runId) ? [] : [agentId]));
}
