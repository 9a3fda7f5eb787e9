import type { HookEntry } from "../hooks/hook.ts";
import type { JsonObject } from "../json.ts";
import type { Snapshot } from "./definitions.ts";
import type { Approval, ProjectSettings } from "./settings.ts";

/**
 * Everything that a session reads on the machine with its workspace: the project's files, the user's own files, plugins
 * and trust. A snapshot is plain data and is created on that machine, so that the session itself can run on another
 * one.
 */
export interface ProjectSnapshot extends Snapshot {
  /** Root of the project. */
  readonly root: string;
  /** Highest trusted directory of the project; absent if none is trusted. */
  readonly trustedRoot?: string | undefined;
  /** Files and directories that were not read because they are not trusted, relative to the workspace. */
  readonly off: readonly string[];
  /**
   * Hooks and MCP servers in the workspace's own agent files that would be approved if the workspace were trusted now.
   */
  readonly approvals: readonly Approval[];
  /**
   * Settings that decide which agents are available. Secrets are left out. Absent if the request for the snapshot
   * already contains these settings.
   */
  readonly settings?: Pick<ProjectSettings, "agents" | "origins" | "problems" | "rules" | "settings"> | undefined;
  readonly plugins: PluginParts;
  /** Existing directories that skills may refer to, symlinks resolved. */
  readonly skillRoots: readonly string[];
  /** The request's additional directories that exist, symlinks resolved. */
  readonly additionalDirectories: readonly string[];
  /** Real path of the state directory if it is in the workspace or in an additional directory. */
  readonly stateInWorkspace?: string | undefined;
  /** A git configuration that may name programs; absent if there is none, or if the directory is trusted. */
  readonly gitPrograms?: GitPrograms | undefined;
  /** Text of the user's own settings files, with secrets removed, for the agent that explains Retinue. */
  readonly settingsText: string;
}

/** Parts that enabled plugins add to a session, besides agents and skills. */
export interface PluginParts {
  readonly hooks: readonly PluginHook[];
  /** Messages about hooks and MCP servers that are not used. */
  readonly notices: readonly string[];
  /** MCP servers, keyed by `plugin:server`. */
  readonly mcpServers: Readonly<Record<string, JsonObject>>;
  /** File and line of each server, for messages. */
  readonly serverPlaces?: Readonly<Record<string, string>> | undefined;
}

export interface PluginHook extends HookEntry {
  /** Directory of the plugin. */
  readonly pluginRoot: string;
}

export interface GitPrograms {
  /** Path of the configuration file. */
  readonly file: string;
  /** False if the file could not be checked, because it is not an ordinary file or is too large. */
  readonly checked: boolean;
  /** Set if git runs the programs only in commands that change something: hooks, editors, aliases. */
  readonly onlyChanges?: true | undefined;
}
