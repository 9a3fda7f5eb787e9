// Owns: the built-in tools: what each tells the model about itself, and what it does with a workspace it is given.
// Does not own: whether a call is allowed (permissions, hands), bounding of results (hands), files and processes (workspace).
// Called by: app.
export { createReadTool, type ReadDependencies } from "./read/read.ts";
export { createSeenFiles, type SeenFiles } from "./shared/seen-files.ts";
