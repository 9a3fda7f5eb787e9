import type { ServerResponse } from "node:http";
import type { Fault, Pacing } from "./types.ts";
import type { Frame } from "./wire/wire-message.ts";

export type Delivery = {
  status: number;
  headers: Readonly<Record<string, string>>;
  frames: Iterable<Frame>;
  pacing: Pacing;
  fault: Fault | undefined;
  onStart: () => void;
  onSent: (bytes: number) => void;
  /** Called before the server itself breaks the connection. */
  onClosing: () => void;
};

/** Writes the response. Returns early if the client has disconnected. */
export async function deliver(response: ServerResponse, delivery: Delivery): Promise<void> {
  const { pacing, fault } = delivery;
  if (pacing.delayMs || !isPlain(delivery)) return deliverPaced(response, delivery);
  response.writeHead(delivery.status, delivery.headers);
  delivery.onStart();
  const body = fault?.kind === "invalid-utf8" ? joinedBytes(delivery.frames) : joinedText(delivery.frames);
  response.end(body);
  delivery.onSent(Buffer.byteLength(body));
}

async function deliverPaced(response: ServerResponse, delivery: Delivery): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const { pacing, fault } = delivery;
  await pause(pacing.delayMs, gone.signal);
  if (gone.signal.aborted) return;
  const cut = cutOf(fault);
  if (cut !== undefined && cut.afterBytes === undefined)
    return breakOff(response, { delivery, kind: cut.kind, gone: gone.signal });
  response.writeHead(delivery.status, delivery.headers);
  response.flushHeaders();
  delivery.onStart();
  await pause(pacing.firstByteMs, gone.signal);
  const sent = await writePaced(response, { delivery, gone: gone.signal, limit: cut?.afterBytes ?? Infinity });
  if (gone.signal.aborted) return;
  if (cut !== undefined && sent === cut.afterBytes)
    return breakOff(response, { delivery, kind: cut.kind, gone: gone.signal });
  if (fault?.kind === "truncated-tool-json" && fault.end === "close")
    return breakOff(response, { delivery, kind: "close", gone: gone.signal });
  response.end();
}

const needsPacing: ReadonlySet<Fault["kind"]> = new Set([
  "hang",
  "close",
  "reset",
  "slow",
  "split",
  "huge",
  "truncated-tool-json",
] satisfies Fault["kind"][]);

function isPlain({ pacing, fault }: Delivery): boolean {
  if (pacing.firstByteMs || pacing.chunkMs) return false;
  return fault === undefined || !needsPacing.has(fault.kind);
}

function joinedText(frames: Iterable<Frame>): string {
  let text = "";
  for (const frame of frames) text += frame.text;
  return text;
}

function joinedBytes(frames: Iterable<Frame>): Buffer {
  return Buffer.concat(Array.from(frames, (frame) => Buffer.from(frame.text)));
}

/** Resolves early, without an error, when the signal aborts. */
function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (!ms || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

type Cut = { kind: "hang" | "close" | "reset"; afterBytes: number | undefined };

function cutOf(fault: Fault | undefined): Cut | undefined {
  if (fault?.kind !== "hang" && fault?.kind !== "close" && fault?.kind !== "reset") return undefined;
  if (fault.afterBytes === "random") throw new Error("a random cut must be resolved before delivery");
  return { kind: fault.kind, afterBytes: fault.afterBytes };
}

type BreakingOff = { delivery: Delivery; kind: Cut["kind"]; gone: AbortSignal };

async function breakOff(response: ServerResponse, { delivery, kind, gone }: BreakingOff): Promise<void> {
  if (kind === "hang") {
    if (!response.destroyed) await new Promise((resolve) => response.once("close", resolve));
    return;
  }
  // To a Node client, a reset right after data looks like a normal end, so the client gets time to read the data first.
  if (kind === "reset" && response.headersSent) await pause(20, gone);
  delivery.onClosing();
  if (kind === "reset") response.socket?.resetAndDestroy();
  else response.destroy();
}

type PacedWriting = { delivery: Delivery; gone: AbortSignal; limit: number };

async function writePaced(response: ServerResponse, { delivery, gone, limit }: PacedWriting): Promise<number> {
  const { fault, pacing } = delivery;
  const size = fault?.kind === "split" ? (fault.bytes ?? 1) : fault?.kind === "slow" ? 1 : Infinity;
  let sent = 0;
  let isFirst = true;
  for (const frame of delivery.frames) {
    if (!isFirst) await pause(pacing.chunkMs, gone);
    isFirst = false;
    const bytes = Buffer.from(frame.text).subarray(0, limit - sent);
    for (let start = 0; start < bytes.length; start += size) {
      if (gone.aborted) return sent;
      const part = bytes.subarray(start, start + size);
      await write(response, part);
      sent += part.length;
      delivery.onSent(part.length);
      if (fault?.kind === "slow") await pause(fault.msPerByte, gone);
    }
    if (sent >= limit) return sent;
  }
  return sent;
}

/** Writes bytes and waits until they have left the process, so that closing the connection next does not discard them. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("close", done);
      resolve();
    };
    response.once("close", done);
    response.write(bytes, done);
  });
}
