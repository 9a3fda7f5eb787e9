// Owns: executing tool calls in this process: reading the input, deciding, running with a time limit, truncating the
// result.
// Does not own: the tools, the workspace in which they run (workspace), the rules (permissions), asking for approval
// (runs).
// Called by: worker, and app, which gives an executor to runs.
export { combineExecutors } from "./combine-executors.ts";
export { createExecutor, type ExecutorLimits, type ExecutorOptions } from "./create-executor.ts";
export { judgeCall } from "./judge-call.ts";
