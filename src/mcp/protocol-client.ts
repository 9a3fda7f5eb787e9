// Reached only by import(), as web-wire.ts is: loading the package takes longer than starting most servers.
export { Client, ProtocolError } from "@modelcontextprotocol/client";
