// Owns: the files and processes of one directory: real paths, reading and writing without following links, a scrubbed
// environment; the sandbox; worktrees. Does not own: which access is allowed (permissions), what a tool does with a
// file (tools), ending process trees (lib). Called by: worker, which gives a workspace to the executor and the tools.
export { createGuardedFiles, type GuardedFiles } from "./files/guard-files.ts";
export { findGitPrograms } from "./git-programs.ts";
export { readGitState, repositoryRoot } from "./git-state.ts";
export { createLocalWorkspace, type LocalWorkspaceOptions } from "./local-workspace.ts";
export { createSandbox, type Sandbox, type SandboxOptions, type SandboxState } from "./sandbox/create-sandbox.ts";
export { checkInterrupted, type ReviewedFiles } from "./sandbox/watch-paths.ts";
export { looksSecret, scrubEnvironment } from "./scrub-environment.ts";
export {
  type CreatedWorktree,
  createWorktree,
  type Worktree,
  type WorktreeRequest,
} from "./worktrees/create-worktree.ts";
export { describeState, type WorktreeState } from "./worktrees/examine-worktree.ts";
export {
  type ListedWorktree,
  listWorktrees,
  type PrunedWorktrees,
  type PruneOptions,
  pruneWorktrees,
} from "./worktrees/list-worktrees.ts";
export type { WorktreeRecord } from "./worktrees/record.ts";
export { type SettledWorktree, settleWorktree } from "./worktrees/remove-worktree.ts";
