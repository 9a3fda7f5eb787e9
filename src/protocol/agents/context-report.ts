import type { AgentId } from "../ids.ts";

/** Breakdown of an agent's context window. All sizes are in tokens. */
export interface ContextReport {
  readonly agentId: AgentId;
  readonly model: string;
  /** Size of the window. Undefined if unknown. */
  readonly window?: number | undefined;
  /** Estimated size of the next request. */
  readonly used: number;
  /** Parts of the request, largest first. They add up to `used`. */
  readonly parts: readonly ContextPart[];
}

/** One kind of content in a request, with its size. */
export interface ContextPart {
  /** Kind of content, such as `tools`, `prompts` or `results of Read`. */
  readonly name: string;
  readonly tokens: number;
}
