import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { AgentId, KeptWorktree } from "../../protocol/index.ts";
import type { Session as Transcript } from "../../transcript/index.ts";
import { type CreatedWorktree, createWorktree, settleWorktree, type Worktree } from "../../workspace/index.ts";
import type { Environment } from "../places.ts";

export { describeState, listWorktrees, pruneWorktrees } from "../../workspace/index.ts";

export interface AgentWorktreeRequest {
  readonly transcript: Pick<Transcript, "path" | "sessionId">;
  readonly agentId: AgentId;
  /** The directory the agent would work in otherwise. */
  readonly cwd: string;
  readonly includeUncommitted: boolean;
  readonly environment: Environment;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The worktree of an agent: a new one, or the one it had before. It works in `worktree.directory`. */
export function openAgentWorktree(request: AgentWorktreeRequest): Promise<CreatedWorktree> {
  const { transcript, agentId, cwd, ...rest } = request;
  return createWorktree({
    ...rest,
    repository: cwd,
    directory: worktreeDirectory(transcript, agentId),
    branch: branchOf(agentId),
    session: transcript.sessionId,
    agent: agentId,
  });
}

/** Of one whose process was lost: it is gone if nothing was changed there. */
export async function settleLostWorktree({
  transcript,
  agentId,
  environment,
}: Pick<AgentWorktreeRequest, "transcript" | "agentId" | "environment">): Promise<KeptWorktree | undefined> {
  const path = worktreeDirectory(transcript, agentId);
  return existsSync(path) ? leaveWorktree({ path, branch: branchOf(agentId) }, environment) : undefined;
}

/** After everything that ran there has ended. Undefined: nothing was changed, and it is gone. */
export async function leaveWorktree(
  worktree: Pick<Worktree, "path" | "branch">,
  environment: Environment,
): Promise<KeptWorktree | undefined> {
  const settled = await settleWorktree(worktree, { environment });
  if (settled.state === "removed") return undefined;
  const { path, branch, changes } = settled;
  return { path, branch, changes };
}

function branchOf(agentId: AgentId): string {
  return `retinue/${agentId}`;
}

/** `worktrees/PROJECT/AGENT` beside the `projects/PROJECT` of the session; a session without files has it with its own. */
function worktreeDirectory({ path, sessionId }: AgentWorktreeRequest["transcript"], agentId: AgentId): string {
  if (path === undefined) return join(tmpdir(), `retinue-${sessionId}`, "worktrees", agentId);
  const project = dirname(path);
  return join(project, "../..", "worktrees", basename(project), agentId);
}
