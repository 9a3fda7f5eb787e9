import type { RequestOptions } from "node:http";

/** Where a request goes, in the words of node:http. */
export function targetOf(url: URL): RequestOptions {
  const auth = url.username === "" ? {} : { auth: decodeURIComponent(`${url.username}:${url.password}`) };
  return {
    // A literal IPv6 address stands in brackets in a URL, but not in a socket's options.
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    ...(url.port === "" ? {} : { port: Number(url.port) }),
    path: url.pathname + url.search,
    ...auth,
  };
}
