import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface TestProxy {
  readonly url: string;
  /** Host and port of each requested tunnel. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Starts a proxy whose tunnels all lead to one port on loopback. */
export async function startTestProxy(port: number): Promise<TestProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => response.writeHead(405).end());
  server.on("connect", ({ url = "" }, socket: Socket) => {
    asked.push(url);
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    for (const each of [socket, onward]) sockets.add(each.on("error", () => {}));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
