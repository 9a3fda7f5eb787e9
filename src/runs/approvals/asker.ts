import type { ApprovalQuestion } from "../../protocol/index.ts";
import type { RunHost } from "../host/run-host.ts";

/** Who wants to know. */
export type Asker = Pick<ApprovalQuestion, "sessionId" | "agentId" | "agentType" | "path" | "background">;

export function askerOf({ services, thread: { agentId }, request }: RunHost): Asker {
  const { sessionId, retinue } = services;
  const { agent, subagent } = request;
  const background = retinue?.registry.isInBackground(agentId) ? { background: true as const } : {};
  return { sessionId, agentId, agentType: agent.agentType, path: subagent?.path ?? [], ...background };
}
