// Owns: everything that happens on the machine with the code: the worker of this process, with its tools, hook
// commands, MCP servers that run as processes, worktrees and sandbox; settings, trust and other facts of the
// workspace. Does not own: the loop, models, approvals, delegation (runs), the session's transcript (transcript).
// Called by: app.
export { createLocalWorker, type LocalWorkerOptions } from "./local-worker.ts";
export {
  loadProjectSettings,
  type ProjectSettings,
  type ProjectSettingsOptions,
  readProjectSettings,
} from "./project-settings.ts";
export { trustedLevels, unreadFiles } from "./trusted-levels.ts";
