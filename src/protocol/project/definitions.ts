import type { AgentDefinition, Diagnostic, SkillDefinition } from "../agents/definition.ts";

/** Location of an agent's definition, which decides between definitions with the same name and source. */
export interface AgentPlace {
  /** Number of directories above the working directory. 0 except for project sources. */
  readonly distance: number;
  readonly form: "file" | "settings";
  /** Rank of the directory: 0 for `.agents`, 1 for `.claude`. */
  readonly directory: number;
}

export interface LoadedAgent {
  readonly definition: AgentDefinition;
  readonly place: AgentPlace;
  /** Hash of the bytes that the definition and the body were read from. */
  readonly version: string;
  /** System prompt. In the process that read the file, a getter that decodes the prompt on first use. */
  readonly body: string;
}

export interface LoadedSkill {
  readonly definition: SkillDefinition;
  readonly version: string;
  readonly body: string;
}

/** A file with instructions for agents, such as AGENTS.md. */
export interface ContextFile {
  /** Absolute path. */
  readonly file: string;
  readonly source: "user" | "project";
  /** File that imports this one with `@path`. */
  readonly importedBy?: string | undefined;
  readonly text: string;
  readonly version: string;
}

export interface UnloadedAgent {
  readonly file: string;
  /** Name of an agent from a settings file or from `--agents`. */
  readonly agent?: string | undefined;
}

/** All definitions from the project's and the user's files. Plain data. */
export interface Snapshot {
  /** All agents that loaded, including overridden ones. `createCatalog` chooses between agents with the same name. */
  readonly agents: readonly LoadedAgent[];
  /** Skills, one per name. */
  readonly skills: readonly LoadedSkill[];
  readonly contextFiles: readonly ContextFile[];
  /** Agents that were found but do not load. */
  readonly unloaded: readonly UnloadedAgent[];
  readonly diagnostics: readonly Diagnostic[];
  /** Hash of everything in effect. Sessions that use snapshots with the same hash behave in the same way. */
  readonly hash: string;
}

/** Identifies an agent's memory. */
export interface MemoryRequest {
  readonly scope: "user" | "project" | "local";
  readonly agent: string;
  /** Trusted directory of the project that contains its memories. Not needed for the `user` scope. */
  readonly projectRoot?: string | undefined;
}

export type OpenedMemory =
  | {
      readonly ok: true;
      /** Absolute path, symlinks resolved. */
      readonly directory: string;
      /** False if the directory does not exist yet; the first write creates it. */
      readonly exists: boolean;
      /** Content of MEMORY.md; absent if there is none. */
      readonly index?: string | undefined;
      /** True if the file is longer than `index`. */
      readonly cut?: boolean | undefined;
    }
  | { readonly ok: false; readonly problem: string };
