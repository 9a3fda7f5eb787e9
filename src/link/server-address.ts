import { isLoopback, maskAddress, UserError } from "../lib/index.ts";
import { WORKER_PATH } from "./protocol.ts";

export interface ServerAddressOptions {
  /** Address of the server, as the user wrote it. */
  readonly url: string;
  /** Whether the connection may be unencrypted even if the server is on another machine. */
  readonly insecure?: boolean | undefined;
}

/** Returns the address of the WebSocket. Throws a `UserError` if the address can't be used. */
export function serverAddress({ url, insecure = false }: ServerAddressOptions): URL {
  const problem = (message: string, fix: string): UserError =>
    new UserError(message, { code: "worker_address", fix, exitCode: 2 });
  const shown = maskAddress(url);
  const example = "Write it as https://server.example.com:7333.";
  if (!URL.canParse(url)) throw problem(`"${shown}" is not an address`, example);
  const address = new URL(url);
  const protocols: Readonly<Record<string, string>> = {
    "http:": "ws:",
    "https:": "wss:",
    "ws:": "ws:",
    "wss:": "wss:",
  };
  const protocol = protocols[address.protocol];
  if (protocol === undefined) throw problem(`"${shown}" does not begin with https:// or http://`, example);
  if (protocol === "ws:" && !isLocal(address) && !insecure) {
    const fix = "Use https://. In a private network, --insecure allows an unencrypted connection.";
    throw problem(`The connection to ${shown} would not be encrypted, so others could read the token`, fix);
  }
  const path = address.pathname.endsWith("/") ? address.pathname.slice(0, -1) : address.pathname;
  const result = new URL(address.href.replace(/^\w+:/, protocol));
  result.pathname = path.endsWith(WORKER_PATH) ? path : `${path}${WORKER_PATH}`;
  return result;
}

function isLocal({ hostname: host }: URL): boolean {
  return host === "localhost" || isLoopback(host.replace(/^\[|\]$/g, ""));
}
