import { resolve } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import {
  createTextCollector,
  describeError,
  formatBytes,
  formatDuration,
  isRecord,
  maskAddresses,
  stripControls,
} from "../../lib/index.ts";
import type { Clock, RunningProcess, StdioMcpServerConfig, Workspace } from "../../ports/index.ts";
import { settleWithin, type Wire } from "./wire.ts";

export interface StdioOptions {
  readonly workspace?: Workspace | undefined;
  readonly clock: Clock;
  /** Tags of the server's processes, from the widest group to the server itself. */
  readonly tag: readonly string[];
  readonly maxMessageBytes: number;
}

const KEPT_STDERR_BYTES = 4 * 1024;
/** Time allowed for a server to exit on its own after its input is closed. */
const EXIT_MS = 500;

/** Starts the server's program. Messages are lines on the program's standard input and output. */
export function openStdioWire(config: StdioMcpServerConfig, options: StdioOptions): Wire {
  const startedAt = options.clock.monotonic();
  const errorOutput = createTextCollector({ headBytes: 0, tailBytes: KEPT_STDERR_BYTES });
  let strayLines = 0;
  let over: string | undefined;
  let ending: Promise<void> | undefined;

  const lines = splitLines({
    maxBytes: options.maxMessageBytes,
    onLine: (line) => {
      const message = messageOf(line);
      if (message !== undefined) transport.onmessage?.(message);
      else if (line.trim() !== "") strayLines += 1;
    },
    onTooLong: () => {
      lose(`it sent a message larger than ${formatBytes(options.maxMessageBytes)} and was stopped`);
      void end();
    },
  });
  const { workspace } = options;
  if (workspace === undefined) throw new Error("servers that run as processes are not available here");
  const running = workspace.spawn({
    command: config.command,
    args: config.args ?? [],
    cwd: resolve(workspace.root, config.cwd ?? "."),
    env: config.env,
    tag: options.tag,
    stdinOpen: true,
    onOutput: (chunk, stream) => (stream === "stdout" ? lines.push(chunk) : errorOutput.push(chunk)),
  });
  void running.exited.then(({ code, signal, failure }) => {
    const after = formatDuration(options.clock.monotonic() - startedAt);
    const how = signal === null ? `exited with code ${code}` : `was terminated by ${signal}`;
    lose(failure === undefined ? `it ${how} after ${after}${lastErrorOutput()}` : describeFailure(failure, config));
    // Processes that the server started must not outlive it.
    void end();
  });

  function lose(reason: string): void {
    if (over !== undefined) return;
    over = reason;
    transport.onclose?.();
  }
  function lastErrorOutput(): string {
    const text = maskAddresses(stripControls(errorOutput.collected().text).trim());
    return text === "" ? "" : `. Its last output on standard error:\n${text}\n`;
  }
  function end(): Promise<void> {
    ending ??= endProcess(running);
    return ending;
  }

  const transport: Transport = {
    start: async () => {
      // The server may have ended before the client connected.
      if (over !== undefined) throw new Error(over);
    },
    send: async (message) => {
      // If the server has exited, `onclose` has been called; if the server does not read its input, the call times out.
      await running.input?.write(`${JSON.stringify(message)}\n`);
    },
    close: async () => {
      lose("it was closed");
      await end();
    },
  };
  return {
    transport,
    over: () => over,
    explain: (error) => over ?? `${describeError(error)}${lastErrorOutput()}`,
    lastErrorOutput,
    strayLines: () => strayLines,
    end: () => transport.close(),
  };
}

function describeFailure(failure: string, { command }: StdioMcpServerConfig): string {
  const reason = failure.replace(/\.$/, "");
  return /\s/.test(command.trim())
    ? `${reason}. "command" must be only the program; put its arguments in "args"`
    : reason;
}

async function endProcess(running: RunningProcess): Promise<void> {
  running.input?.end();
  await settleWithin(EXIT_MS, running.exited);
  // End the process tree even if the server exited on its own, because processes that it started may still be running.
  await running.end();
}

function messageOf(line: string): JSONRPCMessage | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value) || value["jsonrpc"] !== "2.0") return undefined;
    if (typeof value["method"] !== "string" && !("result" in value) && !("error" in value)) return undefined;
    return value as unknown as JSONRPCMessage;
  } catch {
    return undefined;
  }
}

export interface LineSplitter {
  push(chunk: Uint8Array): void;
}

/** Splits a stream into lines. Stops after a line of more than `maxBytes`, and reports that line once. */
export function splitLines({
  maxBytes,
  onLine,
  onTooLong,
}: {
  readonly maxBytes: number;
  readonly onLine: (line: string) => void;
  readonly onTooLong: () => void;
}): LineSplitter {
  // Pieces are joined once per line. Joining them at every chunk would copy a large message over and over.
  let pieces: Uint8Array[] = [];
  let length = 0;
  let over = false;

  function keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    pieces.push(piece);
    length += piece.length;
    if (length <= maxBytes) return;
    over = true;
    pieces = [];
    onTooLong();
  }

  function endLine(): void {
    const line = Buffer.concat(pieces, length).toString("utf8");
    pieces = [];
    length = 0;
    onLine(line);
  }

  return {
    push(chunk) {
      let start = 0;
      while (!over) {
        const end = chunk.indexOf(NEWLINE, start);
        keep(chunk.subarray(start, end === -1 ? undefined : end));
        if (over || end === -1) return;
        endLine();
        start = end + 1;
      }
    },
  };
}

const NEWLINE = 10;
