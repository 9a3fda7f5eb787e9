import type { AgentMemory } from "../../agents/index.ts";
import type { AgentDefinition, DurableEvent, RunResult } from "../../protocol/index.ts";

/** The agents of a session that work can be given to. */
export interface AvailableAgents {
  readonly definitions: readonly AgentDefinition[];
  /** Finds an agent by its name or an alias. */
  find(name: string): AvailableAgent | undefined;
  /** The most similar names, best first; ten by default. */
  nearest(name: string, max?: number): readonly string[];
}

/** An agent that can be started: its definition and everything that files and the program give to it. */
export interface AvailableAgent {
  readonly definition: AgentDefinition;
  /** System prompt for an agent in this directory. Throws if a user-supplied prompt function fails. */
  prompt(cwd: string): string;
  /** Skills that its definition names; they are part of its prompt. */
  readonly skills: readonly { readonly name: string; readonly text: string }[];
  readonly memory?: AgentMemory | undefined;
  readonly projectContext?: string | undefined;
  /** Directories that it may read beside the workspace. They exist, and symlinks are resolved. */
  readonly readableRoots: readonly string[];
  readonly notices: readonly string[];
  /** Runs the program's callback after a run. Returns the events that its transcript has to record. Never rejects. */
  readonly followUp?: ((result: RunResult) => Promise<readonly DurableEvent[]>) | undefined;
}
