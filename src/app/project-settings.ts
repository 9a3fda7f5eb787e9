import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createTrustStore, type LoadedSettings, type LoadSettingsOptions, loadSettings } from "../settings/index.ts";
import type { Environment } from "./places.ts";

export interface ProjectSettingsOptions extends Pick<LoadSettingsOptions, "file" | "flags" | "managedDirectory"> {
  /** The state directory. */
  readonly home: string;
  /** The real path of the workspace. */
  readonly cwd: string;
  readonly environment: Environment;
  /** For this once, whatever the store says. */
  readonly trust: boolean;
}

export interface ProjectSettings extends LoadedSettings {
  readonly trusted: boolean;
}

/**
 * Every settings file that counts for a workspace, its own only as far as it is trusted. What is off is in the notices.
 * Throws a `UserError` for what must be repaired first.
 */
export function loadProjectSettings(options: ProjectSettingsOptions): ProjectSettings {
  const { home, cwd, environment, trust, ...rest } = options;
  const store = createTrustStore({ stateHome: home });
  const trusted = trust || store.isTrusted(cwd);
  const userHome = environment["HOME"] || homedir();
  const loaded = loadSettings({
    ...rest,
    home,
    cwd,
    environment,
    userHome,
    trusted,
    ...(trust ? {} : { approvedHash: (kind: string, name: string) => store.approvedHash(cwd, { kind, name }) }),
  });
  // In the home directory these are the user's own.
  const unread = trusted || cwd === userHome ? [] : definitions.filter((name) => existsSync(join(cwd, name)));
  const untrusted = [...loaded.untrusted, ...unread];
  const notices = [...(store.problem === undefined ? [] : [store.problem]), ...loaded.notices, ...whatIsOff(untrusted)];
  return { ...loaded, notices, untrusted, trusted };
}

/** What else a project can bring that is read only with trust. */
const definitions = ["AGENTS.md", "CLAUDE.md", ".agents/agents", ".claude/agents", ".agents/skills", ".claude/skills"];

function whatIsOff(untrusted: readonly string[]): readonly string[] {
  if (untrusted.length === 0) return [];
  const cure = 'Trust it with "retinue trust add", or for one run with --trust.';
  return [`This directory is not trusted, so this of its files is off: ${untrusted.join("; ")}. ${cure}`];
}
