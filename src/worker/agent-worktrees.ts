import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { AgentWorktreeRequest, OpenedWorktree, WorkerSession } from "../ports/index.ts";
import type { AgentId, KeptWorktree, SessionId } from "../protocol/index.ts";
import {
  type CreatedWorktree,
  createWorktree,
  type Sandbox,
  settleWorktree,
  type Worktree,
} from "../workspace/index.ts";

/** The session that worktrees belong to. */
export interface WorktreeOwner {
  readonly sessionId: SessionId;
  /** Directory with the session's files; undefined for a session that stores no files. */
  readonly directory?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type AgentWorktrees = Pick<WorkerSession, "openWorktree" | "leaveWorktree">;

/** Creates the worktrees of a session's agents. Commands run in `sandbox`. */
export function createAgentWorktrees(owner: WorktreeOwner, sandbox: Sandbox): AgentWorktrees {
  const open = new Map<AgentId, Worktree>();

  async function leave(agentId: AgentId) {
    const worktree = open.get(agentId);
    open.delete(agentId);
    return worktree ? leaveWorktree(owner, worktree) : settleLostWorktree(owner, agentId);
  }

  return {
    openWorktree: async (request: AgentWorktreeRequest): Promise<OpenedWorktree> => {
      const created = await openAgentWorktree(owner, request);
      if (!created.ok) return { ok: false, message: created.message };
      const { path: top, directory: root } = created.worktree;
      open.set(request.agentId, created.worktree);
      try {
        const sandboxed = request.scratch && (await sandbox.ready()).kind === "on";
        return { ok: true, root, top, sandboxed };
      } catch (error) {
        await leave(request.agentId);
        throw error;
      }
    },
    leaveWorktree: leave,
  };
}

/** Opens an agent's worktree, or creates the worktree if it does not exist. The agent works in `worktree.directory`. */
export function openAgentWorktree(
  owner: WorktreeOwner,
  { agentId, cwd, scratch, now }: AgentWorktreeRequest,
): Promise<CreatedWorktree> {
  return createWorktree({
    repository: cwd,
    directory: worktreeDirectory(owner, agentId),
    branch: branchOf(agentId),
    session: owner.sessionId,
    agent: agentId,
    includeUncommitted: scratch,
    scratch,
    environment: owner.environment,
    now,
  });
}

/** Removes the worktree of an agent whose process was lost, unless the worktree has changes. */
export async function settleLostWorktree(owner: WorktreeOwner, agentId: AgentId): Promise<KeptWorktree | undefined> {
  const path = worktreeDirectory(owner, agentId);
  return existsSync(path) ? leaveWorktree(owner, { path, branch: branchOf(agentId) }) : undefined;
}

/**
 * If a worktree has no changes, removes it and returns undefined. Call this after everything that runs in it
 * has ended.
 */
export async function leaveWorktree(
  { environment }: WorktreeOwner,
  worktree: Pick<Worktree, "path" | "branch">,
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
function worktreeDirectory({ directory, sessionId }: WorktreeOwner, agentId: AgentId): string {
  if (directory === undefined) return join(tmpdir(), `retinue-${sessionId}`, "worktrees", agentId);
  const project = dirname(directory);
  return join(project, "../..", "worktrees", basename(project), agentId);
}
