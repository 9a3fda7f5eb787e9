import { resolve } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { createTextCollector, describeError, formatBytes, formatDuration, stripControls } from "../lib/index.ts";
import type { Clock, RunningProcess, StdioMcpServerConfig, Workspace } from "../ports/index.ts";
import { isMapping } from "./check-server-config.ts";
import { settleWithin } from "./settle-within.ts";
import { splitLines } from "./split-lines.ts";
import type { Wire } from "./wire.ts";

export interface StdioPlace {
  readonly workspace: Workspace;
  readonly clock: Clock;
  /** From the widest group to the server itself. */
  readonly tag: readonly string[];
  readonly maxMessageBytes: number;
}

const KEPT_STDERR_BYTES = 4 * 1024;
/** How long a server may take to leave by itself once its input has ended. */
const LEAVE_MS = 500;

/** Starts the server's program at once; messages are lines on its standard input and output. */
export function openStdioWire(config: StdioMcpServerConfig, place: StdioPlace): Wire {
  const startedAt = place.clock.monotonic();
  const said = createTextCollector({ headBytes: 0, tailBytes: KEPT_STDERR_BYTES });
  let strayLines = 0;
  let over: string | undefined;
  let ending: Promise<void> | undefined;

  const lines = splitLines({
    maxBytes: place.maxMessageBytes,
    onLine: (line) => {
      const message = messageOf(line);
      if (message !== undefined) transport.onmessage?.(message);
      else if (line.trim() !== "") strayLines += 1;
    },
    onTooLong: () => {
      lose(`it sent a message of more than ${formatBytes(place.maxMessageBytes)} and was ended`);
      void end();
    },
  });
  const running = place.workspace.spawn({
    command: config.command,
    args: config.args ?? [],
    cwd: resolve(place.workspace.root, config.cwd ?? "."),
    ...(config.env ? { env: config.env } : {}),
    tag: place.tag,
    stdinOpen: true,
    onOutput: (chunk, stream) => (stream === "stdout" ? lines.push(chunk) : said.push(chunk)),
  });
  void running.exited.then(({ code, signal, failure }) => {
    const after = formatDuration(place.clock.monotonic() - startedAt);
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    lose(failure === undefined ? `it ended ${how} after ${after}${lastWords()}` : describeFailure(failure, config));
    // What it has started must not outlive it.
    void end();
  });

  function lose(reason: string): void {
    if (over !== undefined) return;
    over = reason;
    transport.onclose?.();
  }
  function lastWords(): string {
    const text = stripControls(said.collected().text).trim();
    return text === "" ? "" : `. Its last words on standard error:\n${text}\n`;
  }
  function end(): Promise<void> {
    ending ??= endGently(running);
    return ending;
  }

  const transport: Transport = {
    start: async () => {
      // It may have ended before anybody listened.
      if (over !== undefined) throw new Error(over);
    },
    send: async (message) => {
      // A server that is gone says so by `onclose`; one that does not read runs into the time limit.
      await running.input?.write(`${JSON.stringify(message)}\n`);
    },
    close: async () => {
      lose("it was let go");
      await end();
    },
  };
  return {
    transport,
    over: () => over,
    explain: (error) => over ?? `${describeError(error)}${lastWords()}`,
    lastWords,
    strayLines: () => strayLines,
    end: () => transport.close(),
  };
}

function describeFailure(failure: string, { command }: StdioMcpServerConfig): string {
  const words = failure.replace(/\.$/, "");
  return /\s/.test(command.trim()) ? `${words}. "command" is only the program: its arguments go into "args"` : words;
}

async function endGently(running: RunningProcess): Promise<void> {
  running.input?.end();
  await settleWithin(LEAVE_MS, running.exited);
  // Also when it left by itself: what it started may still be there.
  await running.end();
}

function messageOf(line: string): JSONRPCMessage | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (!isMapping(value) || value["jsonrpc"] !== "2.0") return undefined;
    if (typeof value["method"] !== "string" && !("result" in value) && !("error" in value)) return undefined;
    return value as unknown as JSONRPCMessage;
  } catch {
    return undefined;
  }
}
