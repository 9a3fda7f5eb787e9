import type { Progress, Client as ProtocolClient, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { describeError, formatDuration, LONGEST_TIMER_MS, plural, withTimeLimit } from "../lib/index.ts";
import type { McpServerConfig } from "../ports/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import { cutText } from "./cut-text.ts";
import { type OfferedTool, offeredTools } from "./offered-tools.ts";
import { openStdioWire, type StdioPlace } from "./stdio-wire.ts";
import type { Wire } from "./wire.ts";

export interface LinkPlace extends StdioPlace {
  readonly startMs: number;
  /** Told to the server. */
  readonly version: string;
  readonly onToolsChanged: () => void;
}

export type OpenedLink = { readonly ok: true; readonly link: Link } | { readonly ok: false; readonly reason: string };

export type LinkAnswer =
  | { readonly kind: "result"; readonly result: unknown }
  /** The server lives, but this call failed. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Nothing can come from the server any more. */
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

/** One life of a server: from its start to its death, or until it is let go. */
export interface Link {
  readonly tools: readonly OfferedTool[];
  /** What the server says about its use; empty if nothing. */
  readonly instructions: string;
  /** Why it is over; undefined as long as it lasts. */
  over(): string | undefined;
  strayLines(): number;
  /** Never rejects. */
  call(call: LinkCall): Promise<LinkAnswer>;
  /** Asks again what there is; undefined when the server does not say. Never rejects. */
  list(timeoutMs: number, signal: AbortSignal): Promise<readonly OfferedTool[] | undefined>;
  end(): Promise<void>;
}

const MAX_INSTRUCTIONS = 2_048;
const MAX_PAGES = 100;
/** The package's own clock is not needed beside ours. */
const NEVER = LONGEST_TIMER_MS;

/** Starts or reaches a server and asks for its tools, all within `startMs`. Never rejects. */
export async function openLink(config: McpServerConfig, place: LinkPlace, signal: AbortSignal): Promise<OpenedLink> {
  let wire: Wire | undefined;
  let late = false;
  try {
    // A program starts while the package is loaded.
    wire =
      config.type === "stdio"
        ? openStdioWire(config, place)
        : (await import("./web-wire.ts")).openWebWire(config, place);
    const { Client, ProtocolError } = await import("./protocol-client.ts");
    const { transport } = wire;
    const client = new Client({ name: "retinue", version: place.version }, { capabilities: {} });
    client.setNotificationHandler("notifications/tools/list_changed", () => place.onToolsChanged());
    const tools = await withTimeLimit(signal, place.startMs, async (own) => {
      own.addEventListener("abort", () => {
        late = !signal.aborted;
      });
      await client.connect(transport, { signal: own, timeout: NEVER });
      return client.getServerCapabilities()?.tools === undefined ? [] : listTools(client, own);
    });
    const isRefusal = (error: unknown) => error instanceof ProtocolError;
    return { ok: true, link: createLink({ client, wire, tools, isRefusal }) };
  } catch (error) {
    const reason = late ? whyLate(wire, place.startMs) : wire?.explain(error);
    await wire?.end();
    if (signal.aborted) return { ok: false, reason: "its start was cancelled" };
    return { ok: false, reason: reason ?? describeError(error) };
  }
}

/** With what it said instead. */
function whyLate(wire: Wire | undefined, startMs: number): string {
  const stray = wire?.strayLines() ?? 0;
  const instead = stray === 0 ? "" : `, but wrote ${plural(stray, "line")} to its standard output that are no messages`;
  return `it did not answer within ${formatDuration(startMs)}${instead}${wire?.lastWords() ?? ""}`;
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

/** The package would refuse a whole list for one odd schema; what comes is read with more patience here. */
const anything: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "retinue", validate: (value) => ({ value }) },
};

function describeProgress({ progress, total, message }: Progress): string {
  const amount = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message === undefined ? amount : `${message} (${amount})`;
}
