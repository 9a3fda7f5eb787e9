import { lookup } from "node:dns/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { describeError, judgeAddress } from "../../lib/index.ts";

/** HTTP proxy that connects only to the allowed domains. */
export interface DomainProxy {
  /** Path of the proxy's Unix socket. */
  readonly socket: string;
  close(): void;
}

/**
 * Opens a proxy for the allowed domains. `example.com` allows only that host; `*.example.com` allows all of its
 * subdomains.
 */
export async function openDomainProxy(domains: readonly string[]): Promise<DomainProxy> {
  const directory = mkdtempSync(join(tmpdir(), "retinue-proxy-"));
  const socket = join(directory, "socket");
  const open = new Set<Duplex>();
  const server = createServer((message, response) => {
    const target = URL.canParse(message.url ?? "") ? new URL(message.url ?? "") : undefined;
    if (target?.protocol !== "http:") return response.writeHead(400).end("Only http:// and CONNECT are supported.\n");
    return void passOn(message, { target, domains }).then(
      (upstream) => {
        upstream.on("error", () => response.destroy());
        upstream.once("response", (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        });
        response.once("close", () => upstream.destroy());
        message.pipe(upstream);
      },
      (error: unknown) => response.writeHead(403, { connection: "close" }).end(`${describeError(error)}\n`),
    );
  });
  server.on("connect", (message, near, head) => void tunnel(message, near, { head, domains, open }));
  server.on("connection", (near) => keep(near, open));
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(socket, resolve));
  server.unref();
  return { socket, close: () => closeAll(server, { open, directory }) };
}

interface Tunnel {
  readonly head: Buffer;
  readonly domains: readonly string[];
  readonly open: Set<Duplex>;
}

async function tunnel(message: IncomingMessage, near: Duplex, { head, domains, open }: Tunnel): Promise<void> {
  near.on("error", () => near.destroy());
  const [, host = "", port = ""] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(message.url ?? "") ?? [];
  try {
    const far = connect({ host: await addressOf(host, domains), port: Number(port) });
    keep(far, open);
    far.once("connect", () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      far.write(head);
      near.pipe(far).pipe(near);
    });
    far.on("error", () => near.destroy());
    near.once("close", () => far.destroy());
  } catch (error) {
    const body = `${describeError(error)}\n`;
    const lines = ["HTTP/1.1 403 Forbidden", "Connection: close", `Content-Length: ${Buffer.byteLength(body)}`];
    near.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  }
}

async function passOn(
  message: IncomingMessage,
  { target, domains }: { readonly target: URL; readonly domains: readonly string[] },
): Promise<ClientRequest> {
  const host = await addressOf(target.hostname, domains);
  const { method } = message;
  const headers = { ...message.headers, host: target.host };
  return request({ host, port: target.port || 80, path: target.pathname + target.search, method, headers });
}

/** Resolves a host. Rejects hosts that are not allowed, and local addresses unless the address itself is in the list. */
async function addressOf(host: string, domains: readonly string[]): Promise<string> {
  const denial = `The sandbox does not allow commands to reach ${host}`;
  if (!isAllowed(host, domains)) throw new Error(`${denial}: it is not in sandbox.network.allowedDomains.`);
  const { address } = await lookup(host);
  const reason = judgeAddress(address);
  if (reason !== undefined && !domains.includes(address))
    throw new Error(`${denial}: it resolves to ${address}, ${reason} that is not in sandbox.network.allowedDomains.`);
  return address;
}

export function isAllowed(host: string, domains: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  return domains.some((domain) => {
    const allowed = domain.toLowerCase();
    if (!allowed.startsWith("*.")) return name === allowed;
    return isIP(name) === 0 && name.endsWith(allowed.slice(1)) && name.length > allowed.length - 1;
  });
}

function keep(socket: Socket, open: Set<Duplex>): void {
  open.add(socket);
  socket.unref();
  socket.once("close", () => open.delete(socket));
}

function closeAll(server: Server, { open, directory }: { open: Set<Duplex>; directory: string }): void {
  server.close();
  for (const socket of open) socket.destroy();
  rmSync(directory, { recursive: true, force: true });
}
