import type { Dialect, ModelTier, Prices } from "../../protocol/index.ts";

/** A provider with everything a request needs. Printing or serialising it never shows the key. */
export interface ResolvedProvider {
  readonly name: string;
  readonly dialect: Dialect;
  /** As configured, with or without the version segment. */
  readonly baseUrl: string;
  /** Where the key comes from; undefined where none is needed. */
  readonly keyVariable?: string;
  /** Key and configured headers. A function, so that the key stays out of logs and transcripts. */
  readonly secretHeaders: () => Readonly<Record<string, string>>;
  readonly models: Partial<Readonly<Record<ModelTier, string>>>;
  readonly window?: number;
  readonly maxOutputTokens?: number;
  /** By model id. */
  readonly prices?: Readonly<Record<string, Prices>>;
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
}
