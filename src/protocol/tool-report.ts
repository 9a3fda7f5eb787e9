/** What a definition asked for and what it got. */
export interface ToolReport {
  /** No list, or one with `*`: everything there is. */
  readonly hasWildcard: boolean;
  /** Entries that name a tool that is here, as written. */
  readonly validTools: readonly string[];
  readonly invalidTools: readonly string[];
  /** Canonical names of the tools the agent has. */
  readonly resolvedTools: readonly string[];
  /** Tools that subagents, or background agents, never have, and why. */
  readonly withheld?: readonly { readonly tool: string; readonly why: string }[] | undefined;
}
