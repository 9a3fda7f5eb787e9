import type { JsonSchema } from "./json.ts";

export type Dialect = "anthropic" | "openai";

export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** How long a provider is asked to keep what it wrote to its cache, counted from the last reading. */
export type CacheLifetime = "5m" | "1h";

export type Effort = "low" | "medium" | "high" | "xhigh" | "max";

/** What stands before the messages of a request. Stored once per session by the hash of its JSON. */
export interface Head {
  readonly provider: string;
  readonly model: string;
  readonly dialect: Dialect;
  /** Name of the server's output limit; absent: the usual one of the dialect. The limit itself is written per request. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  readonly thinking?: { readonly budgetTokens: number };
  readonly effort?: Effort | undefined;
  /** Of its cache marks; absent: five minutes. No part of the bytes that a cache is found by. */
  readonly cacheLifetime?: CacheLifetime | undefined;
  readonly tools: readonly ToolDeclaration[];
  readonly system: string;
  /** Facts about the place (system, directory); never a date or an id. */
  readonly systemContext: string;
  /** What the project says of itself (AGENTS.md and the like). */
  readonly userContext: string;
}
