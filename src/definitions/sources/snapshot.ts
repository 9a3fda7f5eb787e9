import type { AgentDefinition, DefinitionSource, Diagnostic, SkillDefinition } from "../../protocol/index.ts";
import type { Place } from "../catalog/create-catalog.ts";
import type { ContextFile } from "../context/read-context-files.ts";

export interface LoadedAgent {
  readonly definition: AgentDefinition;
  readonly place: Place;
  /** Of the bytes it was read from; the body comes from the same. */
  readonly version: string;
  body(): string;
}

export interface LoadedSkill {
  readonly definition: SkillDefinition;
  readonly version: string;
  body(): string;
}

/** What the files of a project and its user give a session: data, made where the files are. */
export interface Snapshot {
  /** Every one that loaded, overridden ones too: createCatalog chooses. */
  readonly agents: readonly LoadedAgent[];
  /** One for each name. */
  readonly skills: readonly LoadedSkill[];
  readonly contextFiles: readonly ContextFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** What was not read because the workspace is not trusted, as words for a list. */
  readonly off: readonly string[];
  /** Of all that is in force; two snapshots with one hash give the same session. */
  readonly hash: string;
}

/** The value of a settings file's key `agents`. */
export interface SettingsAgents {
  readonly source: Exclude<DefinitionSource, "built-in" | "plugin">;
  readonly file: string;
  readonly agents: unknown;
}

/** What a plugin's own reader found in it. */
export interface SnapshotPlugin {
  readonly name: string;
  readonly root: string;
  readonly agentFiles: readonly string[];
  readonly skillFiles: readonly string[];
}

export interface SnapshotOptions {
  readonly cwd: string;
  /** The user's home directory. */
  readonly home: string;
  /** Where settings and sessions are. */
  readonly stateHome: string;
  /** False: nothing of the project is read at all. */
  readonly trusted: boolean;
  /** Nothing of the project above it, or beside it, is opened; absent: all of the project is trusted. */
  readonly trustedRoot?: string;
  readonly plugins?: readonly SnapshotPlugin[];
  readonly flags?: { readonly agents?: unknown };
  readonly settings?: {
    readonly agents?: readonly SettingsAgents[];
    /** `first`: `.agents/agents` hides `.claude/agents` of the same place. */
    readonly directories?: "first" | "merge";
  };
  /** Holds `agents/` and `skills/` of whoever manages the machine. */
  readonly managedDirectory?: string;
}
