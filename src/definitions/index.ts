// Owns: the definitions of a session: agents, skills, plugins, context files, memory index and the built-in agents.
// Does not own: what agents may do (permissions), resolving definitions into runnable agents (agents).
// Called by: worker, runs, app.
export { type BuiltInChoice, builtInAgents, compactLimits } from "./built-in/built-in-agents.ts";
export type { PromptEnvironment } from "./built-in/standard-agents.ts";
export { type Catalog, type CatalogEntry, createCatalog, type Override } from "./catalog/create-catalog.ts";
export { type DelegationList, delegationList } from "./catalog/delegation-list.ts";
export { contextText } from "./context/read-context-files.ts";
export { lintAgent } from "./lint/lint-agent.ts";
export { openMemory } from "./memory/open-memory.ts";
export {
  describeRecordsProblem,
  type InstalledPlugin,
  installedPlugins,
  installPlugin,
  isPluginProblem,
  pluginDirectory,
  readPluginRecords,
  writePluginRecords,
} from "./plugins/installed-plugins.ts";
export { type PartSource, type Plugin, readPlugin } from "./plugins/read-plugin.ts";
export { type CheckedFile, checkMarkdownFile } from "./reading/check-markdown-file.ts";
export { readAgentFile } from "./reading/read-agent.ts";
export { readAgentJson } from "./reading/read-agent-json.ts";
export { amongAgents } from "./reading/read-frontmatter.ts";
export { createSkillCatalog, findSkills, skillDirectory } from "./skills/skills.ts";
export { followLink } from "./sources/list-files.ts";
export { loadSnapshot } from "./sources/load-snapshot.ts";
export { projectLevels } from "./sources/project-levels.ts";
export type { SnapshotOptions } from "./sources/snapshot.ts";
