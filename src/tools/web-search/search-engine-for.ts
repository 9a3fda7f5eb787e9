import { maskAddress } from "../../lib/index.ts";
import type { SearchSettings } from "../../protocol/index.ts";
import type { Search } from "./search.ts";

export type SearchChoice = { readonly engine: Search } | { readonly absent: string };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the search engine from the settings, or the reason why there is no WebSearch tool. The model module creates
 * `given.anthropic`.
 */
export function searchEngineFor(
  settings: SearchSettings | undefined,
  environment: Environment,
  given: { readonly anthropic?: Search | undefined } = {},
): SearchChoice {
  if (settings === undefined) return given.anthropic ? { engine: given.anthropic } : { absent: notConfigured };
  if (settings.engine === "off") return { absent: "WebSearch is off because `search.engine` is set to `off`." };
  if (settings.engine === "anthropic") return given.anthropic ? { engine: given.anthropic } : { absent: noAnthropic };
  if (settings.engine === "searxng") return searxng(settings, environment);
  return brave(settings, environment);
}

const notConfigured =
  "WebSearch has no engine: set `search.engine` in the settings to `searxng` (with `baseUrl`), `brave` (with a key) or `anthropic`.";
const noAnthropic =
  "WebSearch has no engine: `search.engine` is `anthropic`, but no Anthropic provider with a key is configured.";

function searxng({ baseUrl }: SearchSettings, environment: Environment): SearchChoice {
  if (baseUrl === undefined) return { absent: "WebSearch has no engine: SearXNG needs `search.baseUrl`." };
  const url = parse(baseUrl);
  return url
    ? { engine: lazily((engines) => engines.createSearxngSearch({ baseUrl: url, environment })) }
    : { absent: badUrl(baseUrl) };
}

function brave(
  { baseUrl = "https://api.search.brave.com", apiKeyEnv = "BRAVE_API_KEY" }: SearchSettings,
  environment: Environment,
): SearchChoice {
  const apiKey = environment[apiKeyEnv];
  if (!apiKey)
    return { absent: `WebSearch has no engine: Brave Search needs a key in the environment variable ${apiKeyEnv}.` };
  const url = parse(baseUrl);
  return url
    ? { engine: lazily((engines) => engines.createBraveSearch({ apiKey, baseUrl: url, environment })) }
    : { absent: badUrl(baseUrl) };
}

function parse(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
  } catch {
    return undefined;
  }
}

function badUrl(baseUrl: string): string {
  return `WebSearch has no engine: \`search.baseUrl\` is ${JSON.stringify(maskAddress(baseUrl))}, which is not an http or https URL.`;
}

/** Creates a search function that loads the HTTP code on the first query. */
function lazily(make: (engines: typeof import("./engines.ts")) => Search): Search {
  return async (query, options, signal) => make(await import("./engines.ts"))(query, options, signal);
}
