import type { AgentDefinition } from "../../protocol/index.ts";

/** Values that the prompt of a built-in agent may depend on. No dates or ids, so that the prompt stays the same. */
export interface PromptEnvironment {
  /** Absolute path of the documentation in the package. */
  readonly docsDirectory: string;
  /** Absolute path of the directory with settings and sessions. */
  readonly stateDirectory: string;
}

export interface BuiltInAgent {
  readonly definition: AgentDefinition & { readonly source: "built-in" };
  /** Other names of the agent. */
  readonly aliases: readonly string[];
  prompt(environment: PromptEnvironment): string;
}
