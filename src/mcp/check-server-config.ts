import { LONGEST_TIMER_MS } from "../lib/index.ts";
import type { McpServerConfig, McpWebServerConfig, StdioMcpServerConfig } from "../ports/index.ts";

export type CheckedServer =
  | { readonly ok: true; readonly config: McpServerConfig }
  /** A sentence without the server's name and without a full stop. */
  | { readonly ok: false; readonly message: string };

/** Takes one entry of `mcpServers` as people write it; keys of other programs are passed over. */
export function checkServerConfig(value: unknown): CheckedServer {
  if (!isMapping(value)) return wrong(`must be an object such as { "command": "…" } or { "url": "https://…" }`);
  const type = kindOf(value);
  if (type === undefined) return wrong(`has neither "command" nor "url": write one of them`);
  if (type === "unknown") {
    return wrong(`has the type ${JSON.stringify(value["type"])}, which is not supported: use "stdio", "http" or "sse"`);
  }
  const timeout = value["timeout"];
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0 && timeout <= LONGEST_TIMER_MS)) {
    return wrong(`has a "timeout" that is not a number of milliseconds above 0`);
  }
  const limit = timeout === undefined ? {} : { timeout };
  return type === "stdio" ? checkStdio(value, limit) : checkWeb(value, { ...limit, type });
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const kinds: Readonly<Record<string, McpServerConfig["type"]>> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  sse: "sse",
};

function kindOf(value: Record<string, unknown>): McpServerConfig["type"] | "unknown" | undefined {
  const { type } = value;
  if (typeof type === "string" && Object.hasOwn(kinds, type)) return kinds[type];
  if (type !== undefined) return "unknown";
  if (value["command"] !== undefined) return "stdio";
  return value["url"] !== undefined || value["httpUrl"] !== undefined ? "http" : undefined;
}

function checkStdio(value: Record<string, unknown>, limit: { timeout?: number }): CheckedServer {
  const { command, args, env, cwd } = value;
  if (typeof command !== "string" || command.trim() === "") {
    return wrong(`needs "command": the program to start, as text; its arguments go into "args"`);
  }
  if (args !== undefined && !(Array.isArray(args) && args.every((item) => typeof item === "string"))) {
    return wrong(`has "args" that are not a list of texts`);
  }
  const texts = textsOf(env);
  if (texts === undefined) return wrong(`has an "env" that is not an object of texts`);
  if (cwd !== undefined && (typeof cwd !== "string" || cwd === "")) return wrong(`has a "cwd" that is not a directory`);
  const config: StdioMcpServerConfig = {
    type: "stdio",
    command,
    ...(args === undefined ? {} : { args: args as string[] }),
    ...(env === undefined ? {} : { env: texts }),
    ...(cwd === undefined ? {} : { cwd }),
    ...limit,
  };
  return { ok: true, config };
}

function checkWeb(
  value: Record<string, unknown>,
  { type, ...limit }: { type: McpWebServerConfig["type"]; timeout?: number },
): CheckedServer {
  const url = value["url"] ?? value["httpUrl"];
  if (typeof url !== "string" || url === "") return wrong(`needs "url": the address of the server, https://…`);
  const { headers } = value;
  const texts = textsOf(headers);
  if (texts === undefined) return wrong(`has "headers" that are not an object of texts`);
  return { ok: true, config: { type, url, ...(headers === undefined ? {} : { headers: texts }), ...limit } };
}

/** Numbers and booleans are what people write for texts. */
function textsOf(value: unknown): Record<string, string> | undefined {
  if (value === undefined) return {};
  if (!isMapping(value)) return undefined;
  const texts: Record<string, string> = {};
  for (const [name, each] of Object.entries(value)) {
    if (typeof each !== "string" && typeof each !== "number" && typeof each !== "boolean") return undefined;
    texts[name] = String(each);
  }
  return texts;
}

function wrong(message: string): CheckedServer {
  return { ok: false, message };
}
