// Owns: everything that happens on the machine with the code: the worker of this process, with its tools, hook
// commands, MCP servers that run as processes, worktrees and sandbox; everything that a session reads there:
// definitions, settings, trust, memory. Does not own: the loop, models, approvals, delegation (runs), the session's
// transcript (transcript). Called by: app.
export { passedVariables, sandboxSettings } from "./command-settings.ts";
export { docsDirectory, workspaceDirectory } from "./directories.ts";
export { limitWorker } from "./limit-worker.ts";
export { createLocalWorker, type LocalWorkerOptions } from "./local-worker.ts";
export { readValidSettings } from "./own-rights.ts";
export { loadProjectSettings, type ProjectSettingsOptions, readProjectSettings } from "./project-settings.ts";
export { readProject } from "./read-project.ts";
