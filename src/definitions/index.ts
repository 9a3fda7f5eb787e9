// Owns: the definitions of a session: agents, skills, plugins, context files, memory index and the built-in agents.
// Does not own: what agents may do (permissions), resolving definitions into runnable agents (agents).
// Called by: agents, runs, app.
export type { BuiltInAgent, PromptEnvironment } from "./built-in/built-in-agent.ts";
export { type BuiltInChoice, builtInAgents } from "./built-in/built-in-agents.ts";
export { compactLimits } from "./built-in/compact-profile.ts";
export {
  type Catalog,
  type CatalogEntry,
  type CatalogOptions,
  createCatalog,
  type DecidingRule,
  type Found,
  type Override,
  type Place,
} from "./catalog/create-catalog.ts";
export { type DelegationList, delegationList, type ListedAgent, type ListLimits } from "./catalog/delegation-list.ts";
export { type ContextFile, contextText } from "./context/read-context-files.ts";
export { type LintRequest, lintAgent } from "./lint/lint-agent.ts";
export { type MemoryPlace, type OpenedMemory, openMemory } from "./memory/open-memory.ts";
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
export { type CheckedFile, checkMarkdownFile } from "./reading/check-markdown-file.ts";
export { type DefinitionFile, type ReadAgent, readAgentFile } from "./reading/read-agent.ts";
export { type JsonOrigin, type ReadAgents, readAgentJson } from "./reading/read-agent-json.ts";
export { type ReadSkill, readSkillFile } from "./reading/read-skill.ts";
export {
  createSkillCatalog,
  findSkill,
  findSkills,
  type SkillCatalog,
  skillDirectory,
} from "./skills/skill-catalog.ts";
export { followLink } from "./sources/list-files.ts";
export { loadSnapshot } from "./sources/load-snapshot.ts";
export { isWithin, type ProjectLevels, projectLevels } from "./sources/project-levels.ts";
export type {
  LoadedAgent,
  LoadedSkill,
  SettingsAgents,
  Snapshot,
  SnapshotOptions,
  SnapshotPlugin,
} from "./sources/snapshot.ts";
export { type SnapshotWatch, type WatchOptions, watchSnapshot } from "./watch/watch-snapshot.ts";
