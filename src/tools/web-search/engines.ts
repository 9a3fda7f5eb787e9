import type { JsonObject, JsonValue } from "../../protocol/index.ts";
import { withoutInvisible } from "../web-fetch/invisible-characters.ts";
import { plainText } from "../web-fetch/plain-text.ts";
import { request } from "../web-fetch/request.ts";
import type { Search, SearchHit, SearchOptions, SearchOutcome } from "./search.ts";

const maxBytes = 2_000_000;

interface EngineOptions {
  readonly baseUrl: URL;
  /** Environment variables, which may name a proxy. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Searches with a SearXNG server of the user's choice, which may run on this machine. */
export function createSearxngSearch({ baseUrl, environment }: EngineOptions): Search {
  return (query, options, signal) =>
    ask({
      engine: "SearXNG",
      environment,
      url: withQuery(baseUrl, { path: "search", query: { q: narrowed(query, options), format: "json" } }),
      headers: {},
      signal,
      fixes: { 403: 'Add "json" to search.formats in its settings.yml.' },
      hits: (answer) => hitsOf(answer["results"], "content"),
    });
}

export function createBraveSearch({
  apiKey,
  baseUrl,
  environment,
}: EngineOptions & { readonly apiKey: string }): Search {
  const badKey = "Check the key in the environment variable that `search.apiKeyEnv` names.";
  return (query, options, signal) =>
    ask({
      engine: "Brave Search",
      environment,
      url: withQuery(baseUrl, { path: "res/v1/web/search", query: { q: narrowed(query, options), count: "20" } }),
      headers: { "x-subscription-token": apiKey },
      signal,
      fixes: {
        401: badKey,
        403: badKey,
        422: badKey,
        429: "Its rate limit was reached. Wait a moment, then try again.",
      },
      hits: (answer) => hitsOf(objectOf(answer["web"])?.["results"], "description"),
    });
}

interface Question extends Pick<EngineOptions, "environment"> {
  readonly engine: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Advice about failures, by HTTP status. */
  readonly fixes: Readonly<Record<number, string>>;
  readonly hits: (answer: JsonObject) => SearchHit[];
}

async function ask({ engine, url, headers, signal, fixes, hits, environment }: Question): Promise<SearchOutcome> {
  // The server comes from the user's own settings, so it may be in a private network.
  const reply = await request(url, {
    signal,
    maxBytes,
    headers: { ...headers, accept: "application/json" },
    alsoAllow: "any",
    environment,
  });
  if (!reply.ok) return { ok: false, message: `${engine} at ${url.host} could not be reached. ${reply.reason}` };
  if (reply.status !== 200) {
    const fix = fixes[reply.status] ?? "Check `search` in the settings.";
    return { ok: false, message: `${engine} at ${url.host} responded with status ${reply.status}. ${fix}` };
  }
  const answer = reply.cut === "no" ? parse(reply.body) : undefined;
  if (!answer) return { ok: false, message: `${engine} at ${url.host} did not return JSON. Check \`search.baseUrl\`.` };
  return { ok: true, hits: hits(answer) };
}

function withQuery(
  base: URL,
  { path, query }: { readonly path: string; readonly query: Readonly<Record<string, string>> },
): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}/${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** Adds `site:` filters, which search engines support. The tool filters the results as well. */
function narrowed(query: string, { allowedDomains, blockedDomains }: SearchOptions): string {
  const allowed = allowedDomains.map((domain) => `site:${domain}`).join(" OR ");
  const blocked = blockedDomains.map((domain) => `-site:${domain}`).join(" ");
  return [query, allowed, blocked].filter((part) => part !== "").join(" ");
}

function hitsOf(list: JsonValue | undefined, snippetName: string): SearchHit[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: JsonValue) => {
    const each = objectOf(entry);
    const url = each?.["url"];
    if (!each || typeof url !== "string") return [];
    return [{ title: words(each["title"]), url, snippet: words(each[snippetName]) }];
  });
}

function words(value: JsonValue | undefined): string {
  return typeof value === "string" ? withoutInvisible(plainText(value)).text.replaceAll("\n", " ") : "";
}

function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function parse(body: Uint8Array): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(new TextDecoder().decode(body)) as JsonValue);
  } catch {
    return undefined;
  }
}
