// Owns: the built-in tools: what each tells the model about itself, and what it does with a workspace it is given.
// Does not own: whether a call is allowed (permissions, hands), bounding of results (hands), files and processes (workspace).
// Called by: app.

export { type BashDependencies, createBashTool } from "./bash/bash.ts";
export { createShells, type Shells } from "./bash/shells.ts";
export { type BashOutputDependencies, createBashOutputTool } from "./bash-output/bash-output.ts";
export { createEditTool, type EditDependencies } from "./edit/edit.ts";
export { createGlobTool, type GlobDependencies } from "./glob/glob.ts";
export { findRipgrep } from "./grep/find-ripgrep.ts";
export { createGrepTool, type GrepDependencies } from "./grep/grep.ts";
export { createKillShellTool, type KillShellDependencies } from "./kill-shell/kill-shell.ts";
export { createLsTool, type LsDependencies } from "./ls/ls.ts";
export { createNotebookEditTool, type NotebookEditDependencies } from "./notebook-edit/notebook-edit.ts";
export { createReadTool, type ReadDependencies } from "./read/read.ts";
export { createSeenFiles, type SeenFiles } from "./shared/seen-files.ts";
export { createSkillTool, type SkillDependencies } from "./skill/skill.ts";
export { createTodos, createTodoWriteTool, type Todo, type Todos } from "./todo-write/todo-write.ts";
export { createWebFetchTool, type WebFetchDependencies } from "./web-fetch/web-fetch.ts";
export type { Search, SearchHit, SearchOptions, SearchOutcome } from "./web-search/search.ts";
export { type SearchChoice, searchEngineFor } from "./web-search/search-engine-for.ts";
export { createWebSearchTool } from "./web-search/web-search.ts";
export { createWriteTool, type WriteDependencies } from "./write/write.ts";
