import type { Socket, TcpNetConnectOpts } from "node:net";
import type { ConnectionOptions, TLSSocket } from "node:tls";

/**
 * Opens a connection and gives what comes in to `read`, whose bytes are valid during the call only. A socket that is
 * returned at once may still be connecting; its failure is an error event like any other.
 */
export type Dial = (read: (bytes: Buffer) => void) => Socket | Promise<Socket>;

export interface DialOptions {
  /** Certificates of authorities to trust instead of the usual ones (PEM). */
  readonly trusted?: string | undefined;
}

export function dialDirectly(url: URL, options: DialOptions): Dial {
  const address = addressOf(url);
  if (url.protocol === "https:") {
    const secure = secureDial(url, options);
    return (read) => secure(read, address);
  }
  // Taken here and not imported: loading it is a good part of the time to the first request.
  const { connect } = process.getBuiltinModule("node:net");
  return (read) => connect({ ...address, onread: { buffer: sharedBuffer, callback: reading(read) } });
}

/** All reading is done before the next one begins. */
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024);

function reading(read: (bytes: Buffer) => void): (size: number, buffer: Uint8Array) => boolean {
  return (size) => {
    read(sharedBuffer.subarray(0, size));
    return true;
  };
}

/** Connections after the first take up its session, which spares a round trip and most of the arithmetic. */
export function secureDial(
  url: URL,
  { trusted }: DialOptions,
): (read: (bytes: Buffer) => void, way: ConnectionOptions) => TLSSocket {
  const { connect } = process.getBuiltinModule("node:tls");
  const host = bareHost(url);
  let session: Buffer | undefined;
  return (read, way) => {
    const socket = connect({
      ...way,
      host,
      ALPNProtocols: ["http/1.1"],
      ...(isAddress(host) ? {} : { servername: host }),
      ...(trusted === undefined ? {} : { ca: trusted }),
      ...(session === undefined ? {} : { session }),
    });
    socket.on("session", (latest) => {
      session = latest;
    });
    socket.on("error", () => {
      session = undefined;
    });
    socket.on("data", read);
    return socket;
  };
}

export function addressOf(url: URL): TcpNetConnectOpts {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  // The probes find out that a peer is gone while both wait in silence.
  return { host: bareHost(url), port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 };
}

/** A literal IPv6 address stands in brackets in a URL, but not in a socket's options. */
function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** It may not be sent as a server name. */
function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(":");
}
