import type { Server } from "node:http";
import type { Socket } from "node:net";
import { descriptorLimit } from "../../lib/index.ts";
import type { Limits } from "../server-options.ts";

/** Returns the limits that depend on the number of files and sockets that this process may have open. */
export function connectionLimits(descriptors = descriptorLimit()): Pick<Limits, "connections" | "streams"> {
  // Most descriptors are reserved for transcripts, requests to models and the agents' commands.
  const connections = Math.max(8, Math.min(512, Math.floor((descriptors - 64) / 4)));
  return { connections, streams: Math.floor(connections / 2) };
}

/**
 * Limits the connections of clients that have not sent a valid token: they get at most half of all connections, and one
 * that sends nothing is closed after a short time. If there are too many, the oldest is closed, so that clients with a
 * token can still connect.
 */
export class Connections {
  private readonly unknown = new Map<string, Socket>();

  constructor(
    http: Server,
    { limits, report }: { readonly limits: Limits; readonly report: (message: string) => void },
  ) {
    const most = Math.floor(limits.connections / 2);
    http.maxConnections = limits.connections;
    http.on("drop", () =>
      report(`All ${limits.connections} connections are in use, so another one was refused. Close some clients.`),
    );
    http.on("connection", (socket: Socket) => {
      const key = keyOf(socket);
      this.unknown.set(key, socket);
      const silent = setTimeout(() => void (socket.bytesRead === 0 && socket.destroy()), limits.silentMs);
      socket.once("close", () => {
        clearTimeout(silent);
        if (this.unknown.get(key) === socket) this.unknown.delete(key);
      });
      const [oldest] = this.unknown;
      if (this.unknown.size <= most || oldest === undefined) return;
      this.unknown.delete(oldest[0]);
      oldest[1].destroy();
      report(
        `More than ${most} connections are open whose clients have not sent a valid token. The oldest ones are being closed.`,
      );
    });
  }

  /** Called when a client has sent a valid token on a connection. */
  trust(socket: Socket): void {
    this.unknown.delete(keyOf(socket));
  }
}

/** Identifies a connection by its client's address, because an encrypted connection has two socket objects. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
