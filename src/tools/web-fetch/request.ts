import { lookup as systemLookup } from "node:dns/promises";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Duplex, Transform } from "node:stream";
import { connect as connectSecurely } from "node:tls";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import {
  bareHost,
  describeError,
  type HttpProxy,
  isLoopback,
  judgeAddress,
  openTunnel,
  ProxyError,
  proxyFor,
  serverNameOf,
} from "../../lib/index.ts";

export interface Address {
  readonly address: string;
  readonly family: number;
}

export type Lookup = (hostname: string) => Promise<readonly Address[]>;

export interface RequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum size of the body after decompression. */
  readonly maxBytes: number;
  readonly lookup?: Lookup | undefined;
  /** Allows addresses that are not public: `loopback` for tests, `any` for a server from the user's own settings. */
  readonly alsoAllow?: "loopback" | "any" | undefined;
  /** Environment variables, which may name a proxy. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

export type Reply =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Uint8Array;
      /** True if the body was cut, because it is longer than `maxBytes` or because the connection broke. */
      readonly cut: "no" | "too_long" | "broken";
    }
  | { readonly ok: false; readonly reason: string };

/**
 * Sends one GET request without cookies or credentials, and does not follow redirects. Resolves the name once, checks
 * every address, and connects only to a checked address, directly or through the proxy named in the environment. Never
 * rejects.
 */
export async function request(url: URL, options: RequestOptions): Promise<Reply> {
  const proxy = proxyFor(url, options.environment ?? {});
  if (proxy instanceof ProxyError) return { ok: false, reason: `${proxy.message}.` };
  // A proxy may be able to resolve names that this machine can't.
  const isOpen = proxy !== undefined && options.alsoAllow === "any";
  const resolved = isOpen ? { addresses: [] } : await resolve(url, options);
  if ("reason" in resolved) return { ok: false, reason: resolved.reason };
  try {
    const tunnel = proxy && (await orAbort(tunnelTo(url, resolved.addresses, proxy), options.signal));
    const response = await send(url, { ...options, lookup: pinned(resolved.addresses), tunnel });
    const { bytes, cut } = await readBody(response, options.maxBytes);
    if (options.signal.aborted) return { ok: false, reason: whyAborted(options.signal) };
    return { ok: true, status: response.statusCode ?? 0, headers: response.headers, body: bytes, cut };
  } catch (error) {
    return { ok: false, reason: options.signal.aborted ? whyAborted(options.signal) : describeError(error) };
  }
}

type Resolved = { readonly addresses: readonly Address[] } | { readonly reason: string };

async function resolve(url: URL, { lookup = lookUp, alsoAllow, signal }: RequestOptions): Promise<Resolved> {
  const host = bareHost(url.hostname);
  const family = isIP(host);
  let addresses: readonly Address[];
  try {
    addresses = family === 0 ? await orAbort(lookup(host), signal) : [{ address: host, family }];
  } catch (error) {
    return { reason: signal.aborted ? whyAborted(signal) : describeError(error) };
  }
  if (addresses.length === 0) return { reason: `${host} has no IP address.` };
  if (alsoAllow === "any") return { addresses };
  for (const { address } of addresses) {
    if (alsoAllow === "loopback" && isLoopback(address)) continue;
    const reason = judgeAddress(address);
    if (reason === undefined) continue;
    const leads = family === 0 ? `${host} resolves to ${address}, which is` : `${address} is`;
    return { reason: `${leads} ${reason}. Only public internet addresses can be fetched.` };
  }
  return { addresses };
}

function lookUp(hostname: string): Promise<readonly Address[]> {
  return systemLookup(hostname, { all: true, verbatim: true });
}

/** Makes Node connect to the checked addresses, even if the name resolves to other addresses by then. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const usable = addresses.filter(({ family }) => !options.family || options.family === family);
    const first = usable[0] ?? addresses[0];
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

/** Opens a connection to the checked address, or to the name if no address was looked up. */
async function tunnelTo(url: URL, [checked]: readonly Address[], proxy: HttpProxy): Promise<Duplex> {
  const isSecure = url.protocol === "https:";
  const host = checked === undefined ? url.hostname : checked.family === 6 ? `[${checked.address}]` : checked.address;
  const socket = await openTunnel(`${host}:${url.port || (isSecure ? 443 : 80)}`, proxy);
  return isSecure ? connectSecurely({ socket, servername: serverNameOf(url) }) : socket;
}

interface SendOptions extends Omit<RequestOptions, "lookup"> {
  readonly lookup: LookupFunction;
  readonly tunnel: Duplex | undefined;
}

function send(url: URL, { tunnel, ...options }: SendOptions): Promise<IncomingMessage> {
  return new Promise((fulfil, reject) => {
    const start = url.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = start(url, {
      method: "GET",
      ...(tunnel === undefined ? { agent: false, lookup: options.lookup } : { createConnection: () => tunnel }),
      signal: options.signal,
      headers: { host: url.host, "user-agent": "retinue", "accept-encoding": "gzip, deflate, br", ...options.headers },
    });
    outgoing.on("response", fulfil);
    outgoing.on("upgrade", (_response, socket) => {
      socket.destroy();
      reject(new Error("The server tried to switch to a protocol other than HTTP."));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((fulfil, reject) => {
    const abort = () => reject(new Error("aborted"));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(fulfil, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function whyAborted(signal: AbortSignal): string {
  const timedOut = signal.reason instanceof Error && signal.reason.name === "TimeoutError";
  return timedOut ? "The server took too long to respond." : "The call was cancelled.";
}

interface Body {
  readonly bytes: Uint8Array;
  readonly cut: "no" | "too_long" | "broken";
}

/** Reads at most `maxBytes`, before and after decompression, then closes the connection. */
function readBody(response: IncomingMessage, maxBytes: number): Promise<Body> {
  const decoder = decoderFor(response.headers["content-encoding"]);
  if (decoder === "unknown") {
    response.destroy();
    return Promise.reject(new Error("The server sent an unrequested content encoding."));
  }
  return new Promise((fulfil, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let received = 0;
    const finish = (cut: Body["cut"]) => {
      fulfil({ bytes: Buffer.concat(chunks), cut });
      response.destroy();
      decoder?.destroy();
    };
    const failed = (error: Error) => {
      if (size > 0 && error.name !== "AbortError") return finish("broken");
      reject(error);
      response.destroy();
      decoder?.destroy();
    };
    const take = (chunk: Buffer) => {
      const room = maxBytes - size;
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      size += Math.min(chunk.length, room);
      if (chunk.length > room) finish("too_long");
    };
    response.on("error", failed);
    response.on("data", (chunk: Buffer) => {
      if (!decoder) return take(chunk);
      received += chunk.length;
      if (received > maxBytes) return finish("too_long");
      if (!decoder.write(chunk)) response.pause();
    });
    response.on("end", () => (decoder ? decoder.end() : finish("no")));
    decoder?.on("drain", () => response.resume());
    decoder?.on("data", take);
    decoder?.on("end", () => finish("no"));
    decoder?.on("error", failed);
  });
}

function decoderFor(encoding: string | undefined): Transform | "unknown" | undefined {
  const name = (encoding ?? "identity").trim().toLowerCase();
  if (name === "identity" || name === "") return undefined;
  if (name === "gzip" || name === "x-gzip") return createGunzip();
  if (name === "deflate") return createInflate();
  if (name === "br") return createBrotliDecompress();
  return "unknown";
}
