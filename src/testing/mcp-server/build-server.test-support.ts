import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import type { McpBehavior } from "./mcp-server.test-support.ts";

export interface BuiltServer {
  /** Returns an entry for `mcpServers` that starts the server. */
  config(behavior?: McpBehavior): { command: string; args: string[] };
  remove(): void;
}

/**
 * Bundles the test server into a program for plain Node, because starting it through a TypeScript loader takes too
 * long.
 */
export function buildMcpServer(): BuiltServer {
  const directory = mkdtempSync(join(tmpdir(), "mcp-server-"));
  const outfile = join(directory, "serve.mjs");
  const source = join(import.meta.dirname, "serve.test-support.ts");
  buildSync({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  return {
    config: (behavior = {}) => ({ command: process.execPath, args: [outfile, JSON.stringify(behavior)] }),
    remove: () => rmSync(directory, { recursive: true }),
  };
}
