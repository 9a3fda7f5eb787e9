// Owns: selecting the hooks for an event, calling them, and combining their answers. Does not own: reading files and
// trust (settings, definitions, app), running commands (worker), what a decision does to a call or a run (runs). Called
// by: app, which creates a session's hooks; runs use hooks only through the port.
export { createHooks, type OpenHooks } from "./create-hooks.ts";
export type { CommandHook, FunctionHook, Hook, HookFunction, HookFunctionAnswer, HookInput } from "./hook.ts";
export { checkMatcher, matcherNotices } from "./plan-hooks.ts";
