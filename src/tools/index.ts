// Owns: the built-in tools: what each tells the model about itself, and what it does with a workspace it is given.
// Does not own: whether a call is allowed (permissions, hands), bounding of results (hands), files and processes (workspace).
// Called by: app.
export { createTools, type ToolsRequest } from "./create-tools.ts";
export { findRipgrep } from "./ripgrep/find-ripgrep.ts";
export { toolSpecs } from "./tool-specs.ts";
export type { Search, SearchHit, SearchOptions, SearchOutcome } from "./web-search/search.ts";
export { type SearchChoice, searchEngineFor } from "./web-search/search-engine-for.ts";
