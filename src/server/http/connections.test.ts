import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { startServer } from "../server.test-support.ts";
import { connectionLimits } from "./connections.ts";

function open(url: string, text?: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.resume();
  if (text !== undefined) socket.write(text);
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe("a server's connections", () => {
  it("leave descriptors for the server's own work", () => {
    expect(connectionLimits(Number.POSITIVE_INFINITY)).toEqual({ connections: 512, streams: 256 });
    expect(connectionLimits(256)).toEqual({ connections: 48, streams: 24 });
    expect(connectionLimits(20)).toEqual({ connections: 8, streams: 4 });
  });

  it("are closed, oldest first, if their clients sent no valid token and there are many of them", async () => {
    const server = await startServer({ limits: { connections: 8, silentMs: 60_000 } });
    const stream = server.stream("/event");
    await stream.until(({ data }) => data.type === "server_snapshot");
    const first = open(server.url);
    await once(first, "connect");
    const closed = once(first, "close");
    const others = Array.from({ length: 12 }, () => open(server.url, "GET /session HTTP/1.1\r\n"));
    await closed;
    await Promise.all(others.slice(0, 8).map((socket) => socket.destroyed || once(socket, "close")));
    expect(others.slice(8).every((socket) => !socket.destroyed)).toBe(true);
    expect((await server.send("GET", "/session")).status).toBe(200);
    expect(stream.events.at(-1)?.data.type).not.toBe("session_closed");
    expect(server.reports).toEqual([
      "More than 4 connections are open whose clients have not sent a valid token. The oldest ones are being closed.",
    ]);
  });

  it("are closed soon if nothing is sent on them", async () => {
    const server = await startServer({ limits: { silentMs: 20 } });
    await once(open(server.url), "close");
    expect(server.reports).toEqual([]);
  });

  it("are limited, and the server says so once", async () => {
    const server = await startServer({ limits: { connections: 2, streams: 10 } });
    for (let count = 0; count < 2; count += 1)
      await server.stream("/event").until(({ data }) => data.type === "server_snapshot");
    await once(open(server.url), "close");
    await once(open(server.url), "close");
    expect(server.reports).toEqual(["All 2 connections are in use, so another one was refused. Close some clients."]);
  });
});
