// Owns: performing tool calls in this process: read the input, decide, run with a deadline, bound the result.
// Does not own: the tools, the place they act in (workspace), the rules (permissions), asking people (runs).
// Called by: app, which gives hands to runs.
export { addTools } from "./add-tools.ts";
export { createHands, type HandsLimits, type HandsOptions } from "./create-hands.ts";
export { lazyHands } from "./lazy-hands.ts";
export { leanFace } from "./lean-face.ts";
