import type { IncomingMessage } from "node:http";
import { type HttpProblem, problem } from "../http/problem.ts";
import { type Access, FailedAttempts, type PageTicket, type Tokens } from "./tokens.ts";

export interface GuardOptions {
  readonly scheme: "http" | "https";
  /** Accepted values of the Host header, in lower case, with the port. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of other sites that may call the server from a browser. */
  readonly origins: ReadonlySet<string>;
  readonly tokens: Tokens;
  readonly pages: PageTicket;
  readonly cookieName: string;
  readonly monotonic: () => number;
}

/** Decides whether to accept a request, based on its headers and before its body is read. */
export interface Guard {
  /** Checks where a request was sent and which site sent it. */
  checkSite(request: IncomingMessage): HttpProblem | undefined;
  /** Determines what the sender may do. */
  identify(request: IncomingMessage): Access | HttpProblem;
  /**
   * Exchanges the link's ticket for a cookie. Returns the value of the Set-Cookie header; undefined for a browser that
   * already has the cookie.
   */
  redeem(request: IncomingMessage, ticket: string): string | undefined | HttpProblem;
  /** Returns the origin that may read the response in a browser; undefined for requests from the server's own pages. */
  foreignOrigin(request: IncomingMessage): string | undefined;
}

export function createGuard(options: GuardOptions): Guard {
  const { scheme, hosts, origins, tokens, pages, cookieName } = options;
  const failures = new FailedAttempts(options.monotonic);

  function checkSite(request: IncomingMessage): HttpProblem | undefined {
    // Proxies and servers may disagree about a repeated header.
    const repeated = ["host", "origin", "authorization", "content-type"].find((name) => countOf(request, name) > 1);
    if (repeated !== undefined) return problem("invalid_request", `The ${repeated} header occurs twice. Send it once.`);
    const { url = "" } = request;
    if (!url.startsWith("/") || url.startsWith("//") || url.length > LONGEST_URL)
      return problem("invalid_request", "The address must be a path on this server, with at most 8,192 characters.");
    const host = request.headers.host?.toLowerCase() ?? "";
    if (!hosts.has(host))
      return problem("misdirected", "This server does not accept this host name. Start it with --allow-host NAME.");
    const { origin } = request.headers;
    if (origin === undefined || origin === `${scheme}://${host}` || origins.has(origin)) return undefined;
    return problem("forbidden", "This server rejects requests from other sites. Start it with --allow-origin ORIGIN.");
  }

  function identify(request: IncomingMessage): Access | HttpProblem {
    const { authorization } = request.headers;
    if (hasTokenInAddress(request)) return problem("unauthorized", `Tokens in URLs are refused. ${SEND_TOKEN}`);
    const token = /^Bearer ([\w-]{1,256})$/i.exec(authorization ?? "")?.[1];
    const scopes = tokens.find(token ?? "");
    if (token !== undefined && scopes !== undefined) return { scopes, pages: false };
    if (authorization === undefined && hasPageCookie(request)) return { scopes: new Set(), pages: true };
    return failed(SEND_TOKEN);
  }

  function redeem(request: IncomingMessage, ticket: string): string | undefined | HttpProblem {
    if (!pages.isTicket(ticket))
      return failed("This link is not valid. Open the link that `retinue serve` printed last.");
    if (hasPageCookie(request)) return undefined;
    const cookie = pages.redeem();
    if (cookie === undefined)
      return problem(
        "unauthorized",
        "This link was already used. It works in one browser; to get a link for another one, start the server again.",
      );
    return `${cookieName}=${cookie}; Path=/; HttpOnly; SameSite=Strict${scheme === "https" ? "; Secure" : ""}`;
  }

  /** Records a failed attempt. */
  function failed(detail: string): HttpProblem {
    if (failures.add())
      return problem("too_many_attempts", "Too many invalid tokens or links. Wait a minute, then use a valid one.", {
        "Retry-After": "60",
      });
    return problem("unauthorized", detail, { "WWW-Authenticate": "Bearer" });
  }

  function hasPageCookie(request: IncomingMessage): boolean {
    const cookies = (request.headers.cookie ?? "").split(";").map((each) => each.trim());
    const prefix = `${cookieName}=`;
    const values = cookies.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
    return values.some((value) => pages.isCookie(value));
  }

  return {
    checkSite,
    identify,
    redeem,
    foreignOrigin: ({ headers: { origin } }) => (origin !== undefined && origins.has(origin) ? origin : undefined),
  };
}

const LONGEST_URL = 8_192;
const SEND_TOKEN = "Send this server's token in an Authorization: Bearer TOKEN header.";

/** Addresses are written to logs and histories, which would expose a token. */
function hasTokenInAddress({ url = "" }: IncomingMessage): boolean {
  const [, query = ""] = url.split("?");
  return [...new URLSearchParams(query).keys()].some((name) => ["token", "access_token"].includes(name.toLowerCase()));
}

function countOf({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length;
}

/** Returns the headers of every response. Pages may load nothing but their own style. */
export function securityHeaders(styleHash: string): Readonly<Record<string, string>> {
  return {
    "Content-Security-Policy": `default-src 'none'; style-src '${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
  };
}
