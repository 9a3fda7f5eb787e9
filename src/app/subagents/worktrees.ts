import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { AgentId, KeptWorktree } from "../../protocol/index.ts";
import type { Transcript } from "../../transcript/index.ts";
import { type CreatedWorktree, createWorktree, settleWorktree, type Worktree } from "../../workspace/index.ts";
import type { Environment } from "../directories.ts";

export interface AgentWorktreeRequest {
  readonly transcript: Pick<Transcript, "path" | "sessionId">;
  readonly agentId: AgentId;
  /** Directory that the agent would work in without a worktree. */
  readonly cwd: string;
  readonly includeUncommitted: boolean;
  readonly scratch?: boolean | undefined;
  readonly environment: Environment;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Opens the worktree of an agent: its existing one or a new one. The agent works in `worktree.directory`. */
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

/** Removes the worktree of an agent whose process was lost, if the worktree has no changes. */
export async function settleLostWorktree({
  transcript,
  agentId,
  environment,
}: Pick<AgentWorktreeRequest, "transcript" | "agentId" | "environment">): Promise<KeptWorktree | undefined> {
  const path = worktreeDirectory(transcript, agentId);
  return existsSync(path) ? leaveWorktree({ path, branch: branchOf(agentId) }, environment) : undefined;
}

/**
 * If a worktree has no changes, removes it and returns undefined. Call this after everything that runs in it
 * has ended.
 */
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

/**
 * Returns `worktrees/PROJECT/AGENT` next to `projects/PROJECT`, or a temporary directory for a session that stores no
 * files.
 */
function worktreeDirectory({ path, sessionId }: AgentWorktreeRequest["transcript"], agentId: AgentId): string {
  if (path === undefined) return join(tmpdir(), `retinue-${sessionId}`, "worktrees", agentId);
  const project = dirname(path);
  return join(project, "../..", "worktrees", basename(project), agentId);
}
