import { formatDuration } from "../lib/index.ts";
import type { McpServerConfig } from "../ports/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import type { Link, LinkAnswer, OpenedLink } from "./connection/open-link.ts";
import type { OfferedTool } from "./tools/offered-tools.ts";

export type Offer =
  | { readonly ok: true; readonly tools: readonly OfferedTool[]; readonly instructions: string }
  | { readonly ok: false; readonly reason: string };

export interface ServerCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

export type ServerAnswer =
  /** `note` contains additional information for the model. */
  | { readonly ok: true; readonly result: unknown; readonly note?: string | undefined }
  | { readonly ok: false; readonly message: string };

/** A configured server, which may be restarted several times. */
export interface Server {
  readonly name: string;
  /** Returns the current tools. Starts the server if it is not running. Never rejects. */
  offer(signal: AbortSignal): Promise<Offer>;
  /** Calls a tool. Never rejects, and settles within about `limitMs()`. */
  call(call: ServerCall): Promise<ServerAnswer>;
  /** Returns the time limit for a call made now, including a restart if one is needed. */
  limitMs(): number;
  strayLines(): number;
  end(): Promise<void>;
}

export interface ServerParts {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly startMs: number;
  readonly callMs: number;
  readonly open: (onToolsChanged: () => void, signal: AbortSignal) => Promise<OpenedLink>;
}

/** Maximum time by which listing the tools again may delay a call. */
const LIST_MS = 5_000;

export function createServer({ name, config, startMs, callMs, open }: ServerParts): Server {
  const limit = config.timeout ?? callMs;
  const ended = new AbortController();
  let opening: Promise<OpenedLink> | undefined;
  let link: Link | undefined;
  /**
   * Number of restarts left, which is reset only by a response from the server, so that a server that exits immediately
   * is not restarted forever.
   */
  let restarts = 1;
  let lastReason = "it was never started";
  let tools: readonly OfferedTool[] = [];
  let toolsChanged = false;

  function start(): Promise<OpenedLink> {
    opening ??= open(() => {
      toolsChanged = true;
    }, ended.signal).then((opened) => {
      opening = undefined;
      if (opened.ok) {
        link = opened.link;
        tools = opened.link.tools;
        toolsChanged = false;
      } else lastReason = opened.reason;
      return opened;
    });
    return opening;
  }

  function living(): Link | undefined {
    const over = link?.over();
    if (over === undefined) return link;
    lastReason = over;
    return undefined;
  }

  async function currentTools(from: Link, signal: AbortSignal): Promise<readonly OfferedTool[]> {
    if (!toolsChanged) return tools;
    toolsChanged = false;
    const listed = await from.list(Math.min(LIST_MS, limit), signal);
    if (listed === undefined) toolsChanged = true;
    else tools = listed;
    return tools;
  }

  async function offer(signal: AbortSignal): Promise<Offer> {
    if (signal.aborted) return cancelled;
    const own = living();
    const opened: OpenedLink = own ? { ok: true, link: own } : await orAborted(start(), signal);
    if (!opened.ok) return opened;
    restarts = 1;
    return { ok: true, tools: await currentTools(opened.link, signal), instructions: opened.link.instructions };
  }

  /** Returns the connection for a call, with a note if the server was restarted. */
  async function connect(
    signal: AbortSignal,
  ): Promise<{ link: Link; note?: string | undefined } | { message: string }> {
    if (ended.signal.aborted) return { message: `The MCP server "${name}" was stopped because the agent is ending.` };
    const own = living();
    if (own) return { link: own };
    const died = lastReason;
    if (opening === undefined && restarts === 0) {
      return {
        message: `The MCP server "${name}" is not running, and restarting it did not help: ${asSentence(died)} Continue without its tools.`,
      };
    }
    if (opening === undefined) restarts -= 1;
    const opened = await orAborted(start(), signal);
    if (!opened.ok) return { message: `The MCP server "${name}" could not be restarted: ${asSentence(opened.reason)}` };
    const note = `[The MCP server "${name}" had stopped (${died.trimEnd()}) and was restarted. Its in-memory state is lost.]`;
    return { link: opened.link, note };
  }

  async function call({ tool, input, signal, progress }: ServerCall): Promise<ServerAnswer> {
    const connected = await connect(signal);
    if ("message" in connected) return { ok: false, message: connected.message };
    const offered = await currentTools(connected.link, signal);
    if (!offered.some((each) => each.name === tool)) {
      return { ok: false, message: `The MCP server "${name}" no longer has the tool ${JSON.stringify(tool)}.` };
    }
    const answer = await connected.link.call({ tool, input, signal, progress, timeoutMs: limit });
    if (answer.kind === "result" || answer.kind === "refused") restarts = 1;
    const { note } = connected;
    if (answer.kind === "result") return { ok: true, result: answer.result, note };
    const message = describeFailure(answer, { name, limit });
    return { ok: false, message: note ? `${note}\n${message}` : message };
  }

  return {
    name,
    offer,
    call,
    limitMs: () => (living() ? limit : startMs + limit),
    strayLines: () => link?.strayLines() ?? 0,
    end: async () => {
      ended.abort(new Error("The server is no longer used."));
      const opened = await opening;
      if (opened?.ok) await opened.link.end();
      await link?.end();
    },
  };
}

function describeFailure(
  answer: Exclude<LinkAnswer, { kind: "result" }>,
  { name, limit }: { readonly name: string; readonly limit: number },
): string {
  switch (answer.kind) {
    case "refused":
      return `The MCP server "${name}" rejected the call: ${asSentence(answer.reason)}`;
    case "lost":
      return `The connection to the MCP server "${name}" was lost during the call: ${asSentence(answer.reason)} What the call had done by then is unknown.`;
    case "timeout":
      return `The MCP server "${name}" did not respond within ${formatDuration(limit)}, the limit set by "timeout" in its configuration. What the call had done by then is unknown.`;
    case "cancelled":
      return "The call was cancelled. What it had done by then is unknown.";
  }
}

const cancelled = { ok: false, reason: "starting it was cancelled" } as const;

/** Stops waiting if the signal aborts. The start itself continues, because other agents may be waiting for it too. */
function orAborted(start: Promise<OpenedLink>, signal: AbortSignal): Promise<OpenedLink> {
  if (signal.aborted) return Promise.resolve(cancelled);
  return new Promise((resolve) => {
    const onAbort = () => resolve(cancelled);
    signal.addEventListener("abort", onAbort, { once: true });
    void start.then((opened) => {
      signal.removeEventListener("abort", onAbort);
      resolve(opened);
    });
  });
}

/** Adds a period, unless the reason ends with the output of a program. */
export function asSentence(reason: string): string {
  return reason.endsWith("\n") ? reason.trimEnd() : `${reason.replace(/\.$/, "")}.`;
}
