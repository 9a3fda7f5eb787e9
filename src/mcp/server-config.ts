import { isRecord, LONGEST_TIMER_MS, misspelledName } from "../lib/index.ts";
import type { McpServerConfig, McpWebServerConfig, OwnMcpServer, StdioMcpServerConfig } from "../ports/index.ts";

export type CheckedServer =
  | { readonly ok: true; readonly config: McpServerConfig }
  /** The message continues a sentence that names the server, and does not end with a period. */
  | { readonly ok: false; readonly message: string };

/** Checks an entry in `mcpServers`. Unknown keys are ignored, because other programs use the file too. */
export function checkServerConfig(value: unknown): CheckedServer {
  if (!isRecord(value)) return wrong(`must be an object such as { "command": "…" } or { "url": "https://…" }`);
  const type = kindOf(value);
  if (type === undefined && value["server"] !== undefined)
    return wrong(`has a "server" without a "connect" method; use an object such as an McpServer`);
  if (type === undefined) {
    const typo = Object.keys(value).find((key) => misspelledName(key, ["command", "url"]) !== undefined);
    const hint =
      typo === undefined
        ? "add one of them"
        : `write "${misspelledName(typo, ["command", "url"])}" instead of "${typo}"`;
    return wrong(`has neither "command" nor "url"; ${hint}`);
  }
  if (type === "unknown") {
    return wrong(`has the type ${JSON.stringify(value["type"])}, which is not supported; use "stdio", "http" or "sse"`);
  }
  const timeout = value["timeout"];
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0 && timeout <= LONGEST_TIMER_MS)) {
    return wrong(`has a "timeout" that is not a number of milliseconds greater than 0`);
  }
  if (type === "own") return { ok: true, config: { type, server: value["server"] as OwnMcpServer, timeout } };
  return type === "stdio" ? checkStdio(value, timeout) : checkWeb(value, { type, timeout });
}

/**
 * Checks an entry in `mcpServers` and replaces its variables. Returns the configuration, or a message that continues a
 * sentence about the server and does not end with a period.
 */
export function readServerConfig(value: unknown, environment: Environment): McpServerConfig | string {
  const checked = checkServerConfig(value);
  if (!checked.ok) return `its configuration ${checked.message}`;
  const expanded = expandVariables(checked.config, environment);
  if (!expanded.ok) {
    const names = expanded.missing.join(", ");
    return `its configuration uses environment variables that are not set: ${names}. Set them, or add a default such as \${${expanded.missing[0]}:-value}`;
  }
  const { config } = expanded;
  if ("url" in config && !/^https?:$/.test(URL.canParse(config.url) ? new URL(config.url).protocol : ""))
    return 'its "url" is not valid; it must begin with http:// or https://';
  return config;
}

/** Returns true if a configuration starts a process, so that the server runs where the workspace is. */
export function startsProcess(config: unknown): boolean {
  return isRecord(config) && kindOf(config) === "stdio";
}

/** Returns true if the configuration contains a server object that this program created. */
export function isOwnServer(config: unknown): boolean {
  return isRecord(config) && kindOf(config) === "own";
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
  const { type, server } = value;
  // Only a program can pass a server object, because a file can't contain a function.
  if (typeof server === "object" && server !== null && "connect" in server && typeof server.connect === "function")
    return "own";
  if (typeof type === "string" && Object.hasOwn(kinds, type)) return kinds[type];
  if (type !== undefined) return "unknown";
  if (value["command"] !== undefined) return "stdio";
  return value["url"] !== undefined || value["httpUrl"] !== undefined ? "http" : undefined;
}

function checkStdio(value: Record<string, unknown>, timeout: number | undefined): CheckedServer {
  const { command, args, env, cwd } = value;
  if (typeof command !== "string" || command.trim() === "") {
    return wrong(`needs a "command", the program to start, as a string; put its arguments in "args"`);
  }
  if (args !== undefined && !(Array.isArray(args) && args.every((item) => typeof item === "string"))) {
    return wrong(`has "args" that are not a list of strings`);
  }
  const texts = textsOf(env);
  if (texts === undefined) return wrong(`has an "env" that is not an object of strings`);
  if (cwd !== undefined && (typeof cwd !== "string" || cwd === "")) return wrong(`has a "cwd" that is not a directory`);
  const config: StdioMcpServerConfig = {
    type: "stdio",
    command,
    args: args as string[] | undefined,
    env: env === undefined ? undefined : texts,
    cwd,
    timeout,
  };
  return { ok: true, config };
}

function checkWeb(
  value: Record<string, unknown>,
  { type, timeout }: { type: McpWebServerConfig["type"]; timeout: number | undefined },
): CheckedServer {
  const url = value["url"] ?? value["httpUrl"];
  if (typeof url !== "string" || url === "") return wrong(`needs a "url", the address of the server (https://…)`);
  const { headers } = value;
  const texts = textsOf(headers);
  if (texts === undefined) return wrong(`has "headers" that are not an object of strings`);
  return { ok: true, config: { type, url, headers: headers === undefined ? undefined : texts, timeout } };
}

/** Reads a map of strings. Also accepts numbers and booleans, which users write instead of strings. */
function textsOf(value: unknown): Record<string, string> | undefined {
  if (value === undefined) return {};
  if (!isRecord(value)) return undefined;
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

export type Environment = Readonly<Record<string, string | undefined>>;

export type ExpandedConfig =
  | { readonly ok: true; readonly config: McpServerConfig }
  /** Names of variables that are not set and have no default. */
  | { readonly ok: false; readonly missing: readonly string[] };

/**
 * Replaces `${NAME}` and `${NAME:-default}` in all strings of a configuration. Replaced values are not expanded again.
 */
export function expandVariables(config: McpServerConfig, environment: Environment): ExpandedConfig {
  if (config.type === "own") return { ok: true, config };
  const missing = new Set<string>();
  const text = (template: string) =>
    template.replace(reference, (_, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      // As in a shell, the default also replaces an empty variable.
      if (fallback !== undefined) return value || fallback;
      if (value === undefined) missing.add(name);
      return value ?? "";
    });
  const texts = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, text(value)]));
  const expanded: McpServerConfig =
    config.type === "stdio"
      ? {
          ...config,
          command: text(config.command),
          args: config.args?.map(text),
          env: config.env && texts(config.env),
          cwd: config.cwd && text(config.cwd),
        }
      : { ...config, url: text(config.url), headers: config.headers && texts(config.headers) };
  return missing.size > 0 ? { ok: false, missing: [...missing] } : { ok: true, config: expanded };
}

const reference = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;
