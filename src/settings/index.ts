// Owns: settings files, read and checked.
// Does not own: what a setting does, flags, trust in a project's own files.
// Called by: app.
export { checkSettings } from "./check-settings.ts";
export type { LoadedSettings } from "./load-settings.ts";
export { loadSettings } from "./load-settings.ts";
