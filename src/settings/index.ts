// Owns: settings files, read, checked, limited and merged, each value with its origin; the directories a user trusts; turns at files that several processes change.
// Does not own: what a setting does, asking people for their trust.
// Called by: app.
export type { AgentSettings } from "./agent-settings.ts";
export { checkSettings } from "./check-settings.ts";
export { isBackgroundOff } from "./environment-settings.ts";
export { hashApproval } from "./hash-approval.ts";
export type { Approval } from "./limit-project.ts";
export type { LoadedSettings, LoadSettingsOptions } from "./load-settings.ts";
export { loadSettings, readSettings } from "./load-settings.ts";
export { type DirectoryAbove, managedDirectory } from "./settings-files.ts";
export { createTrustStore, type TrustedPath, type TrustStore } from "./trust-store.ts";
export { withFileLock } from "./with-file-lock.ts";
