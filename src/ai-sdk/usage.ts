import type { Usage } from "../protocol/index.ts";
import type { ProviderData, StreamUsage } from "./ai-sdk-types.ts";

interface UsageContext {
  readonly provider: string;
  readonly providerMetadata?: ProviderData | undefined;
}

/** Returns the token counts of a response. Missing counts are 0; Retinue estimates a usage without any input. */
export function usageOf(usage: StreamUsage = {}, context: UsageContext): Usage {
  const { inputTokens, outputTokens } = usage;
  const output = typeof outputTokens === "object" ? outputTokens : { total: outputTokens };
  const written = output.total ?? (output.text ?? 0) + (output.reasoning ?? 0);
  if (typeof inputTokens !== "object") return { ...flatInput(usage, context), outputTokens: written };
  const {
    total = 0,
    cacheRead = 0,
    cacheWrite = 0,
    noCache = Math.max(0, total - cacheRead - cacheWrite),
  } = inputTokens;
  return { inputTokens: noCache, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite, outputTokens: written };
}

/**
 * Reads the numbers of specification V2. It does not say whether cached tokens are part of the input. For Anthropic and
 * Amazon Bedrock they are not, and tokens written to the cache are only in the provider's own data.
 */
function flatInput(
  { inputTokens, cachedInputTokens = 0 }: StreamUsage,
  { provider, providerMetadata = {} }: UsageContext,
): Omit<Usage, "outputTokens"> {
  const input = typeof inputTokens === "number" ? inputTokens : 0;
  const isApart = /anthropic|bedrock/.test(provider) || cachedInputTokens > input;
  const { cacheCreationInputTokens: written } = providerMetadata["anthropic"] ?? {};
  return {
    inputTokens: isApart ? input : input - cachedInputTokens,
    cacheReadTokens: cachedInputTokens,
    cacheWriteTokens: typeof written === "number" ? written : 0,
  };
}
