import type { AgentDefinition } from "../../protocol/index.ts";

/** What a built-in's prompt may depend on. No dates and no ids: the same place gives the same bytes. */
export interface PromptEnvironment {
  /** The documentation shipped with the package, absolute. */
  readonly docsDirectory: string;
  /** Where settings and sessions are, absolute. */
  readonly stateDirectory: string;
}

export interface BuiltInAgent {
  readonly definition: AgentDefinition & { readonly source: "built-in" };
  /** Other names it answers to. */
  readonly aliases: readonly string[];
  prompt(environment: PromptEnvironment): string;
}
