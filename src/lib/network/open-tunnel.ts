import type { AgentOptions } from "node:https";
import { isIP, type Socket } from "node:net";
import { urlToHttpOptions } from "node:url";
import { bareHost } from "./check-url.ts";
import { type HttpProxy, unreachable } from "./proxy.ts";

const longestWaitMs = 30_000;

/**
 * Asks a proxy for a connection to `authority` (host and port). The time limit is for the whole answer of the proxy,
 * which could be dripped byte by byte.
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
 * Returns the server name for TLS, which is never an IP address. By default, Node takes it from the header `host`,
 * which can name another server.
 */
export function serverNameOf(server: URL): string {
  const host = bareHost(server.hostname);
  return isIP(host) ? "" : host;
}
