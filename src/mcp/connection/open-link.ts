import type { Progress, Client as ProtocolClient, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { describeError, formatDuration, LONGEST_TIMER_MS, plural, withTimeLimit } from "../../lib/index.ts";
import type { McpServerConfig } from "../../ports/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Environment } from "../server-config.ts";
import { cutText, type OfferedTool, offeredTools } from "../tools/offered-tools.ts";
import { openStdioWire, type StdioOptions } from "./stdio-wire.ts";
import type { Wire } from "./wire.ts";

export interface LinkOptions extends StdioOptions {
  readonly startMs: number;
  /** Environment variables that name proxies. */
  readonly environment: Environment;
  /** Version of Retinue, sent to the server. */
  readonly version: string;
  readonly onToolsChanged: () => void;
}

export type OpenedLink = { readonly ok: true; readonly link: Link } | { readonly ok: false; readonly reason: string };

export type LinkAnswer =
  | { readonly kind: "result"; readonly result: unknown }
  /** The call failed, but the server is still running. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The connection is lost. */
  | { readonly kind: "lost"; readonly reason: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "cancelled" };

export interface LinkCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

/** A connection to a server, from its start until it ends or is closed. */
export interface Link {
  readonly tools: readonly OfferedTool[];
  /** Instructions from the server on how to use its tools; may be empty. */
  readonly instructions: string;
  /** Explains why the connection is lost; undefined while it works. */
  over(): string | undefined;
  strayLines(): number;
  /** Calls one of the server's tools. Never rejects. */
  call(call: LinkCall): Promise<LinkAnswer>;
  /** Lists the tools again. Returns undefined on failure. Never rejects. */
  list(timeoutMs: number, signal: AbortSignal): Promise<readonly OfferedTool[] | undefined>;
  end(): Promise<void>;
}

const MAX_INSTRUCTIONS = 2_048;
const MAX_PAGES = 100;
/** Disables the SDK's timeouts, because `withTimeLimit` is used instead. */
const NEVER = LONGEST_TIMER_MS;

/** Connects to a server and lists its tools, all within `startMs`. Never rejects. */
export async function openLink(
  config: McpServerConfig,
  options: LinkOptions,
  signal: AbortSignal,
): Promise<OpenedLink> {
  let wire: Wire | undefined;
  let late = false;
  try {
    // Start the program while the SDK is loading.
    wire =
      config.type === "stdio"
        ? openStdioWire(config, options)
        : config.type === "own"
          ? await (await import("./own-wire.ts")).openOwnWire(config)
          : (await import("./web-wire.ts")).openWebWire(config, options);
    const { Client, ProtocolError } = await import("@modelcontextprotocol/client");
    const { transport } = wire;
    const client = new Client({ name: "retinue", version: options.version }, { capabilities: {} });
    client.setNotificationHandler("notifications/tools/list_changed", () => options.onToolsChanged());
    const tools = await withTimeLimit(signal, options.startMs, async (own) => {
      own.addEventListener("abort", () => {
        late = !signal.aborted;
      });
      await client.connect(transport, { signal: own, timeout: NEVER });
      return client.getServerCapabilities()?.tools === undefined ? [] : listTools(client, own);
    });
    const isRefusal = (error: unknown) => error instanceof ProtocolError;
    return { ok: true, link: createLink({ client, wire, tools, isRefusal }) };
  } catch (error) {
    const reason = late ? describeTimeout(wire, options.startMs) : wire?.explain(error);
    await wire?.end();
    if (signal.aborted) return { ok: false, reason: "starting it was cancelled" };
    return { ok: false, reason: reason ?? describeError(error) };
  }
}

function describeTimeout(wire: Wire | undefined, startMs: number): string {
  const stray = wire?.strayLines() ?? 0;
  const instead =
    stray === 0 ? "" : `, but wrote text other than MCP messages to standard output (${plural(stray, "line")})`;
  return `it did not respond within ${formatDuration(startMs)}${instead}${wire?.lastErrorOutput() ?? ""}`;
}

interface LinkParts {
  readonly client: ProtocolClient;
  readonly wire: Wire;
  readonly tools: readonly OfferedTool[];
  readonly isRefusal: (error: unknown) => error is Error;
}

function createLink({ client, wire, tools, isRefusal }: LinkParts): Link {
  async function call({ tool, input, timeoutMs, signal, progress }: LinkCall): Promise<LinkAnswer> {
    let late = false;
    try {
      const result = await withTimeLimit(signal, timeoutMs, (own) => {
        own.addEventListener("abort", () => {
          late = !signal.aborted;
        });
        const request = { method: "tools/call" as const, params: { name: tool, arguments: { ...input } } };
        const onprogress = (step: Progress) => progress(describeProgress(step));
        return client.request(request, anything, { signal: own, timeout: NEVER, onprogress });
      });
      return { kind: "result", result };
    } catch (error) {
      if (signal.aborted) return { kind: "cancelled" };
      if (late) return { kind: "timeout" };
      if (isRefusal(error) && wire.over() === undefined) return { kind: "refused", reason: describeError(error) };
      const reason = wire.explain(error);
      return { kind: wire.over() === undefined ? "refused" : "lost", reason };
    }
  }

  return {
    tools,
    instructions: cutText(client.getInstructions() ?? "", MAX_INSTRUCTIONS),
    over: wire.over,
    strayLines: wire.strayLines,
    call,
    list: (timeoutMs, signal) =>
      withTimeLimit(signal, timeoutMs, (own) => listTools(client, own)).catch(() => undefined),
    end: wire.end,
  };
}

async function listTools(client: ProtocolClient, signal: AbortSignal): Promise<readonly OfferedTool[]> {
  const all: OfferedTool[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, anything, { signal, timeout: NEVER });
    const { tools, nextCursor } = offeredTools(answer);
    all.push(...tools);
    if (nextCursor === undefined || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return all;
}

/**
 * Accepts any response. The SDK would reject a whole list because of one invalid schema; `offeredTools` is more
 * lenient.
 */
const anything: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "retinue", validate: (value) => ({ value }) },
};

function describeProgress({ progress, total, message }: Progress): string {
  const amount = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message === undefined ? amount : `${message} (${amount})`;
}
