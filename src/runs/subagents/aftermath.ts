import type { AgentId, DurableEvent, RunEnd, RunResult, RunUpdate } from "../../protocol/index.ts";
import type { Thread } from "../thread/thread.ts";
import type { Aftermath } from "./agent-record.ts";
import type { ReadyAgent } from "./agent-wish.ts";

export interface Settling {
  readonly agentId: AgentId;
  readonly prepared: ReadyAgent;
  readonly thread: Thread;
  readonly onUpdate: (update: RunUpdate) => void;
}

/** Lets go of what was made for a subagent's run that has ended, and keeps what it left. */
export async function settleRun(result: RunResult, settling: Settling): Promise<Aftermath & { readonly end: RunEnd }> {
  const { sessionId: _session, agentId: _agent, model: _model, ...end } = result;
  const { runId } = end;
  const { agentId, prepared, thread, onUpdate } = settling;
  // The work counts, whether or not this can be written.
  const record = async (event: DurableEvent): Promise<void> => {
    for (const line of await thread.record([event]).catch(() => [])) onUpdate(line);
  };
  await prepared.hands.release(agentId).catch(() => undefined);
  for (const event of (await prepared.followUp?.(result)) ?? []) await record(event);
  const worktree = await prepared.release().catch(() => undefined);
  const left = worktree ? { worktree } : {};
  await record({ type: "run.cleaned", runId, ...left });
  return { ...left, end };
}
