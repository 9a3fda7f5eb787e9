import type { AgentDefinition, DefinitionSource, Diagnostic, SkillDefinition } from "../../protocol/index.ts";
import type { Place } from "../catalog/create-catalog.ts";
import type { ContextFile } from "../context/read-context-files.ts";

export interface LoadedAgent {
  readonly definition: AgentDefinition;
  readonly place: Place;
  /** Hash of the bytes that the definition and the body were read from. */
  readonly version: string;
  body(): string;
}

export interface LoadedSkill {
  readonly definition: SkillDefinition;
  readonly version: string;
  body(): string;
}

/** All definitions that a session loads from the project's and the user's files. Plain data. */
export interface Snapshot {
  /** All agents that loaded, including overridden ones. `createCatalog` chooses between them. */
  readonly agents: readonly LoadedAgent[];
  /** Skills, one per name. */
  readonly skills: readonly LoadedSkill[];
  readonly contextFiles: readonly ContextFile[];
  /** Agents that were found but do not load. */
  readonly unloaded: readonly UnloadedAgent[];
  readonly diagnostics: readonly Diagnostic[];
  /** Hash of everything in effect. Snapshots with the same hash result in the same session. */
  readonly hash: string;
}

export interface UnloadedAgent {
  readonly file: string;
  /** Name of an agent from a settings file or from `--agents`. */
  readonly agent?: string | undefined;
}

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
  readonly settings?: {
    readonly agents?: readonly SettingsAgents[];
    /** With `first`, `.agents/agents` hides `.claude/agents` in the same directory. */
    readonly directories?: "first" | "merge";
  };
  /** Directory with the `agents/` and `skills/` folders of the machine's administrator. */
  readonly managedDirectory?: string | undefined;
}
