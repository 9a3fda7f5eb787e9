import type { Rule } from "../permissions/permission.ts";
import type { ScopedCompactRule, Settings, SettingsOrigin } from "../settings.ts";

/** A part of a project's files that takes effect only as long as it is identical to what the user approved. */
export interface Approval {
  readonly kind: string;
  /** Path of the file relative to the project, or the name of a server. */
  readonly name: string;
  readonly hash: string;
}

/** The `agents` key in the settings: definitions by name, agents that are turned off, and options for all agents. */
export interface AgentSettings {
  /**
   * Definitions from each file, lowest scope first. If several files with the same source define the same name, only
   * the highest file's definition is included.
   */
  readonly definitions: readonly {
    readonly source: "user" | "project" | "flag" | "policy";
    /** Path of the settings file; undefined if the embedding program supplied the definitions. */
    readonly file?: string | undefined;
    readonly agents: Readonly<Record<string, unknown>>;
    /** Line number of each agent in the file, keyed by agent name. */
    readonly lines?: Readonly<Record<string, number>> | undefined;
  }[];
  readonly directories: "first" | "merge";
  /** Plugin agents, as `plugin:name`, that may replace the built-in agent of the same name. */
  readonly replaceBuiltIns: readonly string[];
  /** Agents with the value `false`, as in `"Explore": false`, unless a higher layer defines them. */
  readonly switchedOff: readonly { readonly name: string; readonly file?: string | undefined }[];
}

export interface LoadedSettings {
  /** Settings merged from all files, deeply frozen. */
  readonly settings: Settings;
  /** Path of the user's own file, if it exists. */
  readonly file?: string | undefined;
  /** Files that were read, lowest scope first. */
  readonly files: readonly string[];
  readonly origins: readonly SettingsOrigin[];
  /**
   * All rules with their scope and file, including those from `permissions.jsonc` files. `settings` also contains the
   * rules, as lists.
   */
  readonly rules: readonly Rule[];
  readonly compact: readonly ScopedCompactRule[];
  /** Minor findings, such as unknown keys or an empty file. */
  readonly notices: readonly string[];
  /** Problems that prevent a run, because a broken file may contain rules. */
  readonly problems: readonly string[];
  /** Keys in the project's files that are ignored because the project is not trusted. */
  readonly untrusted: readonly string[];
  /** Approvals of the workspace's own files that would be recorded if the workspace were trusted now. */
  readonly approvals: readonly Approval[];
  /** The `agents` key from every file, not merged, because each definition belongs to its scope. */
  readonly agents: AgentSettings;
}

/** The settings that apply to a directory, merged from all files, and messages about them. */
export interface ProjectSettings extends LoadedSettings {
  /** True if the project's settings files are used. */
  readonly trusted: boolean;
  /** The `trust` option: true if the current content of the workspace is approved. */
  readonly trust: boolean;
}
