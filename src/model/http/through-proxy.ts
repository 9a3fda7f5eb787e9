import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import { addressOf, type Dial, type DialOptions, dialDirectly, secureDial } from "./dial.ts";
import { type HeadOptions, loginOf } from "./request-head.ts";

interface ProxyOptions extends DialOptions {
  readonly url: URL;
  readonly proxy: URL;
}

/** Requests through a proxy: by CONNECT where the target is https, else by absolute address. */
export function throughProxy({ url, proxy, ...options }: ProxyOptions): { dial: Dial; head: HeadOptions } {
  const login: Login = proxy.username === "" ? {} : { "proxy-authorization": loginOf(proxy) };
  if (url.protocol !== "https:") return { dial: dialDirectly(proxy, options), head: { absolute: true, extra: login } };
  const secure = secureDial(url, options);
  return { dial: async (read) => secure(read, { socket: await tunnel(url, { proxy, login }) }), head: {} };
}

const connectMs = 30_000;

type Login = Readonly<Record<string, string>>;

function tunnel(url: URL, { proxy, login }: { proxy: URL; login: Login }): Promise<Socket> {
  const authority = `${url.hostname}:${url.port || 443}`;
  const { request: ask } = proxy.protocol === "https:" ? https : http;
  const headers = { host: authority, ...login };
  return new Promise((resolve, reject) => {
    const refuse = (what: string) => reject(new ProxyRefusal(proxy, what));
    const request = ask({ ...addressOf(proxy), path: authority, method: "CONNECT", headers, agent: false });
    request.setTimeout(connectMs, () => {
      refuse("did not answer in time");
      request.destroy();
    });
    request.once("error", reject);
    request.once("response", (response) => {
      response.resume();
      refuse(`answered with status ${response.statusCode}`);
    });
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      refuse(`answered with status ${response.statusCode}`);
    });
    request.end();
  });
}

class ProxyRefusal extends Error {
  readonly code = "ERR_PROXY_REFUSED";

  constructor(proxy: URL, what: string) {
    super(`the proxy ${proxy.host} ${what}`);
  }
}
