import { credentialsOf, maskAddress } from "../../lib/index.ts";
import type { Dialect } from "../../protocol/index.ts";
import type { ResolvedProvider } from "./providers.ts";

const paths: Record<Dialect, string> = {
  anthropic: "/messages",
  openai: "/chat/completions",
  responses: "/responses",
  gemini: "/models",
};

/** Returns the URL to post messages to. The base URL may lack the version segment, or already be complete. */
export function messagesUrl(baseUrl: string, dialect: Dialect, model: string): URL {
  const url = new URL(baseUrl);
  const base = withoutSlash(url.pathname);
  url.pathname = base.endsWith(paths[dialect]) ? base : versioned(base, dialect) + paths[dialect];
  if (dialect !== "gemini") return url;
  // Google names models in the URL. Slashes in the names of tuned models stay.
  url.pathname += `/${encodeURI(model).replace(/[?#]/g, encodeURIComponent)}:streamGenerateContent`;
  url.searchParams.set("alt", "sse");
  return url;
}

export function modelsUrl(baseUrl: string, dialect: Dialect): URL {
  const url = new URL(baseUrl);
  const base = withoutSlash(url.pathname);
  const own = paths[dialect];
  url.pathname = `${versioned(base.endsWith(own) ? base.slice(0, -own.length) : base, dialect)}/models`;
  if (dialect === "gemini") url.searchParams.set("pageSize", "1000");
  return url;
}

/**
 * Returns the headers of a request to a provider. `compacts`: the request asks for a summary of its conversation, or
 * contains one.
 */
export function commonHeaders({ dialect, secretHeaders }: ResolvedProvider, compacts = false): Record<string, string> {
  const headers: Record<string, string> = { "accept-encoding": "identity", "user-agent": "retinue" };
  if (dialect === "anthropic") headers["anthropic-version"] = "2023-06-01";
  const own = secretHeaders();
  if (!compacts) return { ...headers, ...own };
  const { [BETA]: betas, ...others } = own;
  return { ...headers, ...others, [BETA]: betas === undefined ? COMPACTION : `${betas},${COMPACTION}` };
}

const BETA = "anthropic-beta";
const COMPACTION = "compact-2026-09-04";

/** Describes the problem with a base URL; undefined if the URL is valid. */
export function baseUrlProblem(baseUrl: string): string | undefined {
  const shown = maskAddress(baseUrl);
  if (!URL.canParse(baseUrl)) return `"${shown}" is not a URL; it should look like http://127.0.0.1:8000/v1`;
  const url = new URL(baseUrl);
  if (url.protocol !== "http:" && url.protocol !== "https:") return `"${shown}" must begin with http:// or https://`;
  if (credentialsOf(url) !== undefined) return undefined;
  return "its user name or password is not percent-encoded correctly (write % as %25)";
}

/** Returns the host and port for messages, without the user name, password or query string. */
export function hostOf(url: URL): string {
  return url.port === "" ? url.hostname : `${url.hostname}:${url.port}`;
}

function versioned(path: string, dialect: Dialect): string {
  const version = dialect === "gemini" ? "v1beta" : "v1";
  return path.split("/").some((segment) => /^v\d/.test(segment)) ? path : `${path}/${version}`;
}

function withoutSlash(path: string): string {
  return path.replace(/(?<!\/)\/+$/, "");
}
