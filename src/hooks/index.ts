// Owns: which hooks an occasion concerns, running them (commands and functions), and what they say together.
// Does not own: reading files and trust (settings, definitions, app), what a decision does to a call or a run (runs).
// Called by: app, which makes the hooks of a session; runs know them only by the port.
export { createHooks, type HooksOptions, type OpenHooks } from "./create-hooks.ts";
export type { CommandHook, FunctionHook, Hook, HookFunction, HookInput } from "./hook.ts";
