import type { Approvals } from "../ports/index.ts";
import type { AcceptanceResult, AgentId, DurableEvent, RunEnd, RunResult, RunUpdate } from "../protocol/index.ts";
import { checkAcceptance } from "./acceptance.ts";
import type { Aftermath } from "./agent-record.ts";
import type { ReadyAgent } from "./agent-wish.ts";
import type { LiveAgent } from "./run-host.ts";
import type { Thread } from "./thread.ts";

export interface Settling {
  readonly agentId: AgentId;
  readonly prepared: ReadyAgent;
  readonly parent: LiveAgent;
  readonly thread: Thread;
  readonly onUpdate: (update: RunUpdate) => void;
  readonly approvals: Approvals;
  /** Nobody wants what is left to do. */
  readonly signal: AbortSignal;
}

/** What has to be done behind the end of a subagent's run: its work is checked, and what was made for it is let go. */
export async function settleRun(result: RunResult, settling: Settling): Promise<Aftermath & { readonly end: RunEnd }> {
  const { sessionId: _session, agentId: _agent, model: _model, ...end } = result;
  const { runId } = end;
  const { agentId, prepared, thread, onUpdate } = settling;
  // The work counts, whether or not this can be written.
  const record = async (event: DurableEvent): Promise<void> => {
    for (const line of await thread.record([event]).catch(() => [])) onUpdate(line);
  };
  const acceptance = await check(result, settling);
  if (acceptance) await record({ type: "acceptance.checked", runId, ...acceptance });
  await prepared.hands.release(agentId).catch(() => undefined);
  for (const event of (await prepared.followUp?.(result)) ?? []) await record(event);
  const worktree = await prepared.release().catch(() => undefined);
  if (worktree) await record({ type: "run.cleaned", runId, worktree });
  return { ...(worktree ? { worktree } : {}), ...(acceptance ? { acceptance } : {}), end };
}

/** The host's own look at the work, with what the agent may do; it needs a shell only if its superior has one. */
async function check({ outcome, runId }: RunResult, settling: Settling): Promise<AcceptanceResult | undefined> {
  const { agentId, prepared, parent, approvals, signal } = settling;
  const { agent, hands, acceptance: command } = prepared;
  if (command === undefined || outcome !== "succeeded") return undefined;
  const hasShell = parent.agent.policy.pool.includes("Bash");
  const pool = hasShell ? [...new Set([...agent.policy.pool, "Bash"])] : agent.policy.pool;
  const policy = { ...agent.policy, pool };
  return checkAcceptance({ command, agentId, runId, policy, hands, approvals, signal });
}
