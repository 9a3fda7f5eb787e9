// Loaded only by import(), like web-wire.ts: loading the package takes longer than starting most servers.
export { Client, ProtocolError } from "@modelcontextprotocol/client";
