import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import * as tls from "node:tls";
import type { Connector } from "./connector.ts";
import { targetOf } from "./target.ts";

interface ProxyOptions {
  readonly url: URL;
  readonly proxy: URL;
  readonly agentOptions: http.AgentOptions;
}

/** Requests through a proxy: by CONNECT where the target is https, else by absolute address. */
export function throughProxy({ url, proxy, agentOptions }: ProxyOptions): {
  open: Connector["open"];
  agent: http.Agent;
} {
  const login = loginOf(proxy);
  if (url.protocol === "https:") {
    const agent = tunnelAgent(agentOptions, { proxy, login });
    return { agent, open: (target, options) => https.request({ ...targetOf(target), ...options, agent }) };
  }
  const transport = proxy.protocol === "https:" ? https : http;
  const agent = new transport.Agent(agentOptions);
  const address = { hostname: bare(proxy.hostname), port: portOf(proxy) };
  return {
    agent,
    open: (target, options) => {
      const headers = { ...options.headers, host: target.host, ...login };
      return transport.request({
        ...targetOf(target),
        ...address,
        ...options,
        path: withoutLogin(target),
        agent,
        headers,
      });
    },
  };
}

const connectMs = 30_000;

type Login = Readonly<Record<string, string>>;

/** Node asks an agent for a socket by this call; the types of Node 20 don't let a subclass answer later. */
function tunnelAgent(agentOptions: http.AgentOptions, { proxy, login }: { proxy: URL; login: Login }): https.Agent {
  const agent = new https.Agent(agentOptions);
  const createConnection = (options: http.RequestOptions, callback: Answer): undefined => {
    const host = options.hostname ?? options.host ?? "";
    const authority = `${host.includes(":") ? `[${host}]` : host}:${options.port ?? 443}`;
    const transport = proxy.protocol === "https:" ? https : http;
    const headers = { host: authority, ...login };
    const address = { hostname: bare(proxy.hostname), port: portOf(proxy), path: authority };
    const request = transport.request({ ...address, method: "CONNECT", headers, agent: false, timeout: connectMs });
    request.once("timeout", () => request.destroy(new ProxyRefusal(proxy, "did not answer in time")));
    request.once("error", (error) => callback(error));
    request.once("response", (response) => {
      response.resume();
      callback(new ProxyRefusal(proxy, `answered with status ${response.statusCode}`));
    });
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) {
        callback(null, tls.connect({ ...(options as tls.ConnectionOptions), socket, servername: servername(host) }));
        return;
      }
      socket.destroy();
      callback(new ProxyRefusal(proxy, `answered with status ${response.statusCode}`));
    });
    request.end();
    return undefined;
  };
  return Object.assign(agent, { createConnection });
}

type Answer = (error: Error | null, socket?: Socket) => void;

class ProxyRefusal extends Error {
  readonly code = "ERR_PROXY_REFUSED";

  constructor(proxy: URL, what: string) {
    super(`the proxy ${proxy.host} ${what}`);
  }
}

function loginOf(proxy: URL): Login {
  if (proxy.username === "") return {};
  const login = decodeURIComponent(`${proxy.username}:${proxy.password}`);
  return { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` };
}

function portOf(proxy: URL): number {
  if (proxy.port !== "") return Number(proxy.port);
  return proxy.protocol === "https:" ? 443 : 80;
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** An address may not be sent as a server name. */
function servername(host: string): string {
  return /^[\d.]+$/.test(host) || host.includes(":") ? "" : host;
}

function withoutLogin(url: URL): string {
  const clean = new URL(url);
  clean.username = "";
  clean.password = "";
  return clean.href;
}
