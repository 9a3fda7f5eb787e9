import { type CleanUp, cleanUpDaily as cleanUpFiles } from "../../transcript/index.ts";
import { systemClock } from "../system-clock.ts";
import type { ExamineOptions, Finding } from "./examine.ts";

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
export function worktreeCommands(): Promise<typeof import("../subagents/worktrees.ts")> {
  return import("../subagents/worktrees.ts");
}

/** What `retinue cache` needs, and who tells of a session's cache. */
export function cacheCommands(): Promise<typeof import("../../cache-report/index.ts")> {
  return import("../../cache-report/index.ts");
}

/** What `retinue trust` needs. */
export function trustCommands(): Promise<typeof import("./trust.ts")> {
  return import("./trust.ts");
}

export type { Finding };

/** Looks at everything a session stands on. Loaded when asked for: a session itself needs none of it. */
export async function examine(options: ExamineOptions): Promise<readonly Finding[]> {
  const { examineSurroundings } = await import("./examine.ts");
  return examineSurroundings(options);
}

/** Deletes sessions nobody used for so many days (0 = never), no more than once a day. Undefined: not due. */
export function cleanUpDaily(place: { readonly home: string; readonly days: number }): Promise<CleanUp | undefined> {
  return cleanUpFiles({ ...place, clock: systemClock });
}
