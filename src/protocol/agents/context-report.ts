import type { AgentId } from "../ids.ts";

/** What fills the context window of an agent. All numbers are tokens. */
export interface ContextReport {
  readonly agentId: AgentId;
  readonly model: string;
  /** Size of the window. Undefined if it is not known. */
  readonly window?: number | undefined;
  /** Estimated size of the next request. */
  readonly used: number;
  /** What the request consists of, largest first. The parts add up to `used`. */
  readonly parts: readonly ContextPart[];
}

/** A kind of content in a request, and how much room it takes. */
export interface ContextPart {
  /** Such as `tools`, `prompts` or `results of Read`. */
  readonly name: string;
  readonly tokens: number;
}
