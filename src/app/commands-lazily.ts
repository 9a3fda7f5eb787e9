/** What the commands about agents need. Loaded when asked for: a session itself needs none of it. */
export function agentCommands(): Promise<typeof import("./agents.ts")> {
  return import("./agents.ts");
}

/** What the commands about plugins need. Loaded when asked for: a session itself needs none of it. */
export function pluginCommands(): Promise<typeof import("./plugins.ts")> {
  return import("./plugins.ts");
}

/** What `retinue permissions` and `retinue agents explain` need. */
export function permissionCommands(): Promise<typeof import("./permissions.ts")> {
  return import("./permissions.ts");
}

/** What `retinue approvals` needs. */
export function approvalCommands(): Promise<typeof import("./approvals.ts")> {
  return import("./approvals.ts");
}

/** What `retinue worktrees` needs. */
export function worktreeCommands(): Promise<typeof import("./worktrees.ts")> {
  return import("./worktrees.ts");
}

/** What `retinue cache` needs, and who tells of a session's cache. */
export function cacheCommands(): Promise<typeof import("./cache.ts")> {
  return import("./cache.ts");
}

/** What `retinue trust` needs. */
export function trustCommands(): Promise<typeof import("./trust.ts")> {
  return import("./trust.ts");
}
