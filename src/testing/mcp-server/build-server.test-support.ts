import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import type { McpBehaviour } from "./behaviour.ts";

export interface BuiltServer {
  /** An entry of `mcpServers` that starts it. */
  config(behaviour?: McpBehaviour): { command: string; args: string[] };
  remove(): void;
}

/** The test server as a program that plain Node starts: a loader for TypeScript would take longer than the tests. */
export function buildMcpServer(): BuiltServer {
  const directory = mkdtempSync(join(tmpdir(), "mcp-server-"));
  const outfile = join(directory, "serve.mjs");
  const source = join(import.meta.dirname, "serve.test-support.ts");
  buildSync({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  return {
    config: (behaviour = {}) => ({ command: process.execPath, args: [outfile, JSON.stringify(behaviour)] }),
    remove: () => rmSync(directory, { recursive: true }),
  };
}
