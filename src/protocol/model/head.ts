import type { JsonSchema } from "../json.ts";

/** Wire format: Anthropic's Messages API, OpenAI's Chat Completions API or Responses API, or Google's Gemini API. */
export const dialects = ["anthropic", "openai", "responses", "gemini"] as const;
/** Name of a wire format. */
export type Dialect = (typeof dialects)[number];

/** A tool as the model sees it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /**
   * Input properties that are only useful together with another tool, mapped to the name of that tool. Never part of a
   * head.
   */
  readonly propertyNeeds?: Readonly<Record<string, string>> | undefined;
}

/** Requested lifetime of a cache entry, counted from its last use. */
export type CacheLifetime = "5m" | "1h";

export const efforts = ["low", "medium", "high", "xhigh", "max"] as const;
/** How much a model should think. */
export type Effort = (typeof efforts)[number];

/** Everything that precedes the messages of a request. Stored once per session, under the hash of its JSON. */
export interface Head {
  readonly provider: string;
  readonly model: string;
  readonly dialect: Dialect;
  /**
   * Name of the field for the output limit on this server. If absent, the dialect's usual name is used. The limit
   * itself is set per request.
   */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens" | undefined;
  /** Set if the model is asked to think as much as it sees fit, and to return summaries of its thinking. */
  readonly thinking?: "adaptive" | undefined;
  readonly effort?: Effort | undefined;
  /** Lifetime of cache entries. If absent, five minutes. Not part of the cache key. */
  readonly cacheLifetime?: CacheLifetime | undefined;
  readonly tools: readonly ToolDeclaration[];
  readonly system: string;
  /** Facts about the environment, such as the operating system and the directory. Never contains a date or an id. */
  readonly systemContext: string;
  /** The project's instructions (AGENTS.md and similar files). */
  readonly userContext: string;
}
