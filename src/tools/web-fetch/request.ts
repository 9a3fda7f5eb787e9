import { lookup as systemLookup } from "node:dns/promises";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { bareHost, describeError, isLoopback, judgeAddress } from "../../lib/index.ts";
import { readBody } from "./read-body.ts";

export interface Address {
  readonly address: string;
  readonly family: number;
}

export type Lookup = (hostname: string) => Promise<readonly Address[]>;

export interface RequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the body after decompression. */
  readonly maxBytes: number;
  readonly lookup?: Lookup;
  /** `loopback` is for tests; `any` for a server that the user's own settings name. */
  readonly alsoAllow?: "loopback" | "any";
}

export type Reply =
  | {
      readonly ok: true;
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Uint8Array;
      /** The body was longer than `maxBytes`, or broke off. */
      readonly cut: "no" | "too_long" | "broken";
    }
  | { readonly ok: false; readonly reason: string };

/**
 * One GET, no redirects followed, no cookies, no credentials, no proxy. The name is resolved once, every address is
 * checked, and the connection goes to a checked address only. Never rejects.
 */
export async function request(url: URL, options: RequestOptions): Promise<Reply> {
  const resolved = await resolve(url, options);
  if ("reason" in resolved) return { ok: false, reason: resolved.reason };
  try {
    const response = await send(url, { ...options, lookup: pinned(resolved.addresses) });
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
  if (addresses.length === 0) return { reason: `${host} has no address.` };
  if (alsoAllow === "any") return { addresses };
  for (const { address } of addresses) {
    if (alsoAllow === "loopback" && isLoopback(address)) continue;
    const reason = judgeAddress(address);
    if (reason === undefined) continue;
    const leads = family === 0 ? `${host} leads to ${address}, which is` : `${address} is`;
    return { reason: `${leads} ${reason}. Only public internet addresses are fetched.` };
  }
  return { addresses };
}

function lookUp(hostname: string): Promise<readonly Address[]> {
  return systemLookup(hostname, { all: true, verbatim: true });
}

/** Node asks for an address when it connects; it gets those that were checked, whatever the name means by then. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const usable = addresses.filter(({ family }) => !options.family || options.family === family);
    const first = usable[0] ?? addresses[0];
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

function send(
  url: URL,
  options: Omit<RequestOptions, "lookup"> & { lookup: LookupFunction },
): Promise<IncomingMessage> {
  return new Promise((fulfil, reject) => {
    const start = url.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = start(url, {
      method: "GET",
      agent: false,
      lookup: options.lookup,
      signal: options.signal,
      headers: { "user-agent": "retinue", "accept-encoding": "gzip, deflate, br", ...options.headers },
    });
    outgoing.on("response", fulfil);
    outgoing.on("upgrade", (_response, socket) => {
      socket.destroy();
      reject(new Error("The server wants to speak another protocol than HTTP."));
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
  return timedOut ? "The server took too long to answer." : "The call was cancelled.";
}
