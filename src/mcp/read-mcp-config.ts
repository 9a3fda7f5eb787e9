import { parseJsonc } from "../lib/index.ts";
import type { McpServerConfig } from "../ports/index.ts";
import type { Diagnostic } from "../protocol/index.ts";
import { checkServerConfig, isMapping } from "./check-server-config.ts";

export interface McpConfigFile {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads the text of an `.mcp.json`. A server that can't be understood is left out and named; the others stay. */
export function readMcpConfig(text: string, file: string): McpConfigFile {
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, message } = parsed.error;
    return nothing({ severity: "error", file, line, code: "json_invalid", message: `${message}. Repair the file.` });
  }
  const entries = isMapping(parsed.value) ? parsed.value["mcpServers"] : undefined;
  if (!isMapping(entries)) {
    const message = `There is no "mcpServers" in it. Write { "mcpServers": { "name": { "command": "…" } } }.`;
    return nothing({ severity: "error", file, line: 1, code: "mcp_servers_missing", message });
  }
  const servers: Record<string, McpServerConfig> = {};
  const diagnostics: Diagnostic[] = parsed.warnings.map(({ line, message }) => ({
    severity: "warning",
    file,
    line,
    code: "json_doubtful",
    message: `${message}.`,
  }));
  for (const [name, entry] of Object.entries(entries)) {
    const about = { file, line: lineOf(name, text) };
    if (isMapping(entry) && entry["disabled"] === true) {
      const message = `The MCP server "${name}" is switched off ("disabled": true).`;
      diagnostics.push({ severity: "notice", ...about, code: "mcp_server_disabled", message });
      continue;
    }
    const checked = checkServerConfig(entry);
    if (checked.ok) define(servers, name, checked.config);
    else {
      const message = `The MCP server "${name}" ${checked.message}.`;
      diagnostics.push({ severity: "error", ...about, code: "mcp_server_invalid", message });
    }
  }
  return { servers, diagnostics };
}

function nothing(diagnostic: Diagnostic): McpConfigFile {
  return { servers: {}, diagnostics: [diagnostic] };
}

/** `__proto__` is a name like any other. */
function define(servers: Record<string, McpServerConfig>, name: string, value: McpServerConfig): void {
  Object.defineProperty(servers, name, { value, enumerable: true, configurable: true, writable: true });
}

function lineOf(name: string, text: string): number {
  const start = Math.max(0, text.indexOf('"mcpServers"'));
  const at = text.indexOf(JSON.stringify(name), start + 1);
  return text.slice(0, Math.max(at, start)).split("\n").length;
}
