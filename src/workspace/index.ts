// Owns: files and processes of one place: real paths, reading and writing without following links, a scrubbed environment.
// Does not own: who may touch what (permissions), what a tool does with a file (tools), ending process trees (lib).
// Called by: app, which gives a workspace to hands and tools.
export type { LocalWorkspaceOptions } from "./local-workspace.ts";
export { createLocalWorkspace } from "./local-workspace.ts";
export { scrubEnvironment } from "./scrub-environment.ts";
