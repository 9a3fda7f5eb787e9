// Owns: what a project gives: agents, skills, plugins, context files, memory index, and the agents that are built in.
// Does not own: what they may do (permissions), turning them into something that runs (agents).
// Called by: agents, runs, app.
export type { BuiltInAgent, PromptEnvironment } from "./built-in/built-in-agent.ts";
export { type BuiltInChoice, builtInAgents } from "./built-in/built-in-agents.ts";
export { compactLimits } from "./built-in/compact-profile.ts";
export { type InstallOutcome, installPlugin } from "./plugins/install-plugin.ts";
export {
  type InstalledPlugin,
  type InstalledPlugins,
  installedPlugins,
  pluginDirectory,
} from "./plugins/installed-plugins.ts";
export type { PluginDependency } from "./plugins/manifest.ts";
export { type PluginRecord, readPluginRecords, writePluginRecords } from "./plugins/plugin-records.ts";
export { type Plugin, readPlugin } from "./plugins/read-plugin.ts";
