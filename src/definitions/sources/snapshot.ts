import type { DefinitionSource } from "../../protocol/index.ts";

/** The value of the `agents` key in a settings file. */
export interface SettingsAgents {
  readonly source: Exclude<DefinitionSource, "built-in" | "plugin">;
  readonly file: string;
  readonly agents: unknown;
  /** Line number of each agent in the file, by agent name. */
  readonly lines?: Readonly<Record<string, number>> | undefined;
}

/** The definition files of a plugin. */
export interface SnapshotPlugin {
  readonly name: string;
  readonly root: string;
  readonly agentFiles: readonly string[];
  readonly skillFiles: readonly string[];
  readonly commandFiles: readonly string[];
}

export interface SnapshotOptions {
  readonly cwd: string;
  /** The user's home directory. */
  readonly home: string;
  /** The state directory, with settings and sessions. */
  readonly stateHome: string;
  /** If false, no project files are read. */
  readonly trusted: boolean;
  /** Limits trust to this directory in the project. Defaults to the whole project. */
  readonly trustedRoot?: string | undefined;
  readonly plugins?: readonly SnapshotPlugin[] | undefined;
  readonly flags?: { readonly agents?: unknown } | undefined;
  readonly settings?:
    | {
        readonly agents?: readonly SettingsAgents[];
        /** With `first`, `.agents/agents` hides `.claude/agents` in the same directory. */
        readonly directories?: "first" | "merge";
      }
    | undefined;
  /** Directory with the `agents/` and `skills/` folders of the machine's administrator. */
  readonly managedDirectory?: string | undefined;
}
