import type { ModelDescription, Prompt, SpendEstimate } from "../../ports/index.ts";
import {
  type AssistantMessage,
  costOf,
  type ModelOutcome,
  noUsage,
  paidUsage,
  type Usage,
} from "../../protocol/index.ts";
import { parseObject } from "../answer.ts";
import { createWireModel, type WireModelOptions } from "../wire-model.ts";

/** Search engine for the WebSearch tool that uses the provider's own search. */
export interface ProviderSearch {
  (
    query: string,
    options: { readonly allowedDomains: readonly string[]; readonly blockedDomains: readonly string[] },
    signal: AbortSignal,
  ): Promise<ProviderSearchOutcome>;
  readonly takes: SpendEstimate;
}

export type ProviderSearchOutcome =
  | {
      readonly ok: true;
      readonly hits: readonly { readonly title: string; readonly url: string; readonly snippet: string }[];
      readonly summary?: string | undefined;
      /** Tokens that the search cost. */
      readonly usage: Usage;
      readonly costUsd?: number;
    }
  /** A failed search may have cost something, too. */
  | { readonly ok: false; readonly message: string; readonly usage?: Usage | undefined; readonly costUsd?: number };

const maxTokens = 2_048;
const maxSearches = 3;
/** Maximum number of tokens in the request itself. The tool accepts at most 4,000 characters. */
const REQUEST_TOKENS = 2_000;
/** Number of tokens that is usually enough for the results of one search. */
const FOUND_TOKENS = 10_000;
/** List price of one search, in addition to its tokens, as published in November 2026. A failed search is free. */
const SEARCH_USD = 0.01;

/**
 * Creates a search engine that sends a small separate request with only the provider's search tool. Server and network
 * failures are returned in the result, not thrown.
 */
export function createAnthropicSearch(options: WireModelOptions): ProviderSearch {
  const model = createWireModel(options);
  const search: Search = async (query, domains, signal) => {
    if (options.provider.dialect !== "anthropic") {
      return {
        ok: false,
        message: `${options.provider.name} has no web search of its own. Set another engine with \`search.engine\` in the settings.`,
      };
    }
    const prompt = searchPrompt(options, query, domains);
    const outcome = await model.call(
      {
        prompt,
        maxTokens,
        callId: (index) => `search_${index}`,
        signal,
        // The budget of a search covers only one paid attempt.
        repeat: async () => ({ message: "The search was interrupted. Try again or use different words." }),
      },
      () => {},
    );
    const searches = outcome.ok ? searchesIn(outcome.message) : 0;
    return priced(readSearch(outcome), searches, model.describe());
  };
  return Object.assign(search, { takes: estimate(model.describe()) });
}

type Search = (...parameters: Parameters<ProviderSearch>) => Promise<ProviderSearchOutcome>;

function estimate({ provider, model, prices }: ModelDescription): SpendEstimate {
  const inputTokens = REQUEST_TOKENS + maxSearches * FOUND_TOKENS;
  const tokens = inputTokens + maxTokens;
  if (prices === undefined) return { tokens, model, provider };
  const usd = costOf({ ...noUsage, inputTokens, outputTokens: maxTokens }, prices) + maxSearches * SEARCH_USD;
  return { tokens, usd, model };
}

function priced(outcome: ProviderSearchOutcome, searches: number, { prices }: ModelDescription): ProviderSearchOutcome {
  if (outcome.usage === undefined || prices === undefined) return outcome;
  return { ...outcome, costUsd: costOf(outcome.usage, prices) + searches * SEARCH_USD };
}

function readSearch(outcome: ModelOutcome): ProviderSearchOutcome {
  if (!outcome.ok) return { ok: false, message: outcome.error.message, usage: outcome.usage };
  const usage = paidUsage(outcome);
  const found = hitsIn(outcome.message);
  const summary = textIn(outcome.message).trim();
  if (found.hits.length === 0 && found.problem !== undefined) {
    const message = `The search failed (${found.problem}). Try again or use different words.`;
    return { ok: false, message, usage };
  }
  return { ok: true, hits: found.hits, summary: summary || undefined, usage };
}

/** Joins the text blocks, because citations split one sentence into several blocks. */
function textIn({ content }: AssistantMessage): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

interface Hit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** Returns the result of each search: a list or an error. The results are blocks in the provider's own format. */
function resultsIn({ content }: AssistantMessage): readonly unknown[] {
  return content.flatMap((block) => {
    if (block.type !== "opaque") return [];
    const { type, content: found } = (parseObject(block.json) ?? {}) as { type?: unknown; content?: unknown };
    return type === "web_search_tool_result" ? [found] : [];
  });
}

function searchesIn(message: AssistantMessage): number {
  return resultsIn(message).filter(Array.isArray).length;
}

/** Returns each hit once, even if several searches found it. */
function hitsIn(message: AssistantMessage): { hits: readonly Hit[]; problem: string | undefined } {
  const hits = new Map<string, Hit>();
  let problem: string | undefined;
  for (const content of resultsIn(message)) {
    if (!Array.isArray(content)) {
      problem = String((content as { error_code?: unknown } | null)?.error_code ?? "unknown");
      continue;
    }
    for (const result of content as readonly WireResult[]) {
      if (typeof result.url !== "string" || hits.has(result.url)) continue;
      const snippet = typeof result.page_age === "string" ? `(${result.page_age})` : "";
      hits.set(result.url, {
        title: typeof result.title === "string" ? result.title : result.url,
        url: result.url,
        snippet,
      });
    }
  }
  return { hits: [...hits.values()], problem };
}

interface WireResult {
  readonly url?: unknown;
  readonly title?: unknown;
  readonly page_age?: unknown;
}

type Domains = Parameters<ProviderSearch>[1];

function searchPrompt({ provider, model }: WireModelOptions, query: string, domains: Domains): Prompt {
  const text = `Search the web and report what you found in a few sentences. Give facts, not advice.\n\nQuery: ${query}`;
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }];
  const body = Buffer.from(
    JSON.stringify({
      model,
      max_tokens: maxTokens,
      stream: true,
      tools: [{ type: "web_search_20250305", name: "web_search", max_uses: maxSearches, ...domainFilter(domains) }],
      messages: [{ role: "user", content: text }],
    }),
  );
  const head = {
    provider: provider.name,
    model,
    dialect: provider.dialect,
    tools: [],
    system: "",
    systemContext: "",
    userContext: "",
  };
  return { head, messages: () => messages, body: () => [body] };
}

/**
 * Returns the filter for the API, which accepts only one of the two lists. The tool then filters the results by both
 * lists.
 */
function domainFilter({ allowedDomains, blockedDomains }: Domains): object {
  if (allowedDomains.length > 0) return { allowed_domains: allowedDomains };
  return blockedDomains.length > 0 ? { blocked_domains: blockedDomains } : {};
}
