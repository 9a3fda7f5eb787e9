import type { AgentOptions } from "node:https";
import { isIP, type Socket } from "node:net";
import { urlToHttpOptions } from "node:url";
import { errorCode } from "../errors.ts";
import { bareHost } from "./check-url.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A proxy for requests to one host. */
export interface HttpProxy {
  readonly url: URL;
  /** Value of the `proxy-authorization` header, if the URL of the proxy contains credentials. */
  readonly authorization: string | undefined;
  /** Returns the error for a request that did not get past the proxy. */
  error(problem: string): ProxyError;
}

/** A proxy that can't be used. The message names the environment variable and says what to do. */
export class ProxyError extends Error {
  readonly code = "ERR_PROXY";
}

/**
 * Returns the proxy that environment variables specify for a URL, or an error if that proxy can't be used. Loopback
 * addresses are never proxied, because local model servers use them.
 */
export function proxyFor(url: URL, environment: Environment): HttpProxy | ProxyError | undefined {
  const host = bareHost(url.hostname);
  if (host === "localhost" || host === "::1" || /^127\./.test(host)) return undefined;
  const named =
    read(environment, url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY") ?? read(environment, "ALL_PROXY");
  if (named === undefined || isExempt(url, host, read(environment, "NO_PROXY")?.value ?? "")) return undefined;
  const { variable, value } = named;
  const direct = `list ${host} in NO_PROXY to connect without a proxy`;
  const unusable = (problem: string) =>
    new ProxyError(`${problem}. Set ${variable} to an address such as http://proxy.example.com:8080, or ${direct}`);

  const text = value.includes("://") ? value : `http://${value}`;
  if (!URL.canParse(text)) return unusable(`${variable} is not a valid proxy address`);
  const proxy = new URL(text);
  const scheme = proxy.protocol.slice(0, -1);
  if (scheme !== "http" && scheme !== "https") {
    return unusable(`${variable} names a ${scheme} proxy, but only http and https proxies are supported`);
  }
  const credentials = credentialsOf(proxy);
  if (credentials === undefined) {
    return unusable(`the credentials in ${variable} are not percent-encoded correctly (write % as %25)`);
  }
  const authorization = credentials === ":" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;
  const error = (problem: string) =>
    new ProxyError(`the proxy ${proxy.host} ${problem}. Check ${variable}, or ${direct}`);
  return { url: proxy, authorization, error };
}

/** Describes a failed connection to a proxy. Returns the error unchanged if too many files are open. */
export function unreachable(proxy: HttpProxy, error: Error): Error {
  const code = errorCode(error) ?? error.message;
  if (error instanceof ProxyError || code === "EMFILE" || code === "ENFILE") return error;
  return proxy.error(`can't be reached (${code})`);
}

/** Returns `name:password`, both empty if there are none, or undefined if they can't be decoded. */
export function credentialsOf({ username, password }: URL): string | undefined {
  try {
    return decodeURIComponent(`${username}:${password}`);
  } catch {
    return undefined;
  }
}

interface Variable {
  readonly variable: string;
  readonly value: string;
}

function read(environment: Environment, name: string): Variable | undefined {
  for (const variable of [name.toLowerCase(), name]) {
    const value = environment[variable]?.trim();
    if (value) return { variable, value };
  }
  return undefined;
}

function isExempt(url: URL, host: string, list: string): boolean {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      const [, name = "", wantedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (wantedPort !== undefined && wantedPort !== port) return false;
      const domain = name.replace(/^\*?\./, "");
      return host === domain || host.endsWith(`.${domain}`);
    });
}

const longestWaitMs = 30_000;

/**
 * Asks a proxy for a connection to `authority` (host and port). The time limit applies to the proxy's whole response,
 * which could otherwise arrive one byte at a time.
 */
export function openTunnel(authority: string, proxy: HttpProxy, ca?: AgentOptions["ca"]): Promise<Socket> {
  const headers: Record<string, string> = { host: authority };
  if (proxy.authorization !== undefined) headers["proxy-authorization"] = proxy.authorization;
  // Loaded only here, because hardly any process uses a proxy.
  const { request: send } = process.getBuiltinModule(proxy.url.protocol === "https:" ? "node:https" : "node:http");
  const address = { ...urlToHttpOptions(proxy.url), auth: null, servername: serverNameOf(proxy.url), ca };
  return new Promise((resolve, reject) => {
    const request = send({ ...address, method: "CONNECT", path: authority, headers, agent: false });
    const timer = setTimeout(() => request.destroy(proxy.error("did not respond in time")), longestWaitMs);
    request.on("close", () => clearTimeout(timer));
    request.on("error", (error) => reject(unreachable(proxy, error)));
    request.on("connect", ({ statusCode = 0 }, socket) => {
      clearTimeout(timer);
      if (statusCode >= 200 && statusCode < 300) return resolve(socket);
      socket.destroy();
      reject(proxy.error(`responded with status ${statusCode}`));
    });
    request.end();
  });
}

/**
 * Returns the server name for TLS, which is never an IP address. By default, Node takes the name from the `host`
 * header, which can name another server.
 */
export function serverNameOf(server: URL): string {
  const host = bareHost(server.hostname);
  return isIP(host) ? "" : host;
}
