import { InMemoryTransport } from "@modelcontextprotocol/client";
import { describeError } from "../../lib/index.ts";
import type { OwnMcpServerConfig } from "../../ports/index.ts";
import type { Wire } from "./wire.ts";

/** Connects to a server in this process. Rejects if the server refuses, for example because it is already connected. */
export async function openOwnWire({ server }: OwnMcpServerConfig): Promise<Wire> {
  const [transport, ofServer] = InMemoryTransport.createLinkedPair();
  let over: string | undefined;
  await server.connect(ofServer as never);
  const { onclose } = ofServer;
  ofServer.onclose = () => {
    over ??= "it was closed";
    onclose?.();
  };
  return {
    transport,
    over: () => over,
    explain: describeError,
    lastErrorOutput: () => "",
    strayLines: () => 0,
    end: () => transport.close().catch(() => {}),
  };
}
