// Owns: reading, checking, limiting and merging settings files, with the origin of each value; trusted directories.
// Does not own: what a setting does, asking users to trust a directory.
// Called by: worker, app.
export { checkSettings, type UnknownKey } from "./check-settings.ts";
export { isBackgroundOff } from "./environment-settings.ts";
export { lineOf } from "./file-rules.ts";
export { hashApproval } from "./limit-project.ts";
export type { LoadSettingsOptions } from "./load-settings.ts";
export { loadSettings, readSettings } from "./load-settings.ts";
export { type DirectoryAbove, managedDirectory } from "./settings-files.ts";
export { createTrustStore, type TrustedPath, type TrustStore } from "./trust-store.ts";
export { originsWithoutSecrets, withoutSecrets } from "./without-secrets.ts";
