// Owns: the built-in tools: their specs for the model, and what they do with a workspace.
// Does not own: whether a call is allowed (permissions, executor), bounding of results (executor), files and processes (workspace).
// Called by: worker, app.
export { createServerTools, createTextTools, createWorkerTools, toolOrder } from "./create-tools.ts";
export { previewChange } from "./edit/preview-change.ts";
export { findRipgrep } from "./ripgrep/find-ripgrep.ts";
export { skillSpec } from "./skill/skill.ts";
export type { Search, SearchHit, SearchOptions, SearchOutcome } from "./web-search/search.ts";
export { type SearchChoice, searchEngineFor } from "./web-search/search-engine-for.ts";
