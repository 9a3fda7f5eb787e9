// Owns: executing tool calls in this process: read the input, decide, run with a time limit, truncate the result.
// Does not own: the tools, the workspace they act in (workspace), the rules (permissions), asking for approval (runs).
// Called by: app, which gives an executor to runs.
export { addTools, createExecutor, type ExecutorLimits, type ExecutorOptions } from "./create-executor.ts";
