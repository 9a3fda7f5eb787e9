import { isRecord } from "../lib/index.ts";

/** Id of a request. Each peer numbers its own requests. */
export type RequestId = number | string;

/** Error in a JSON-RPC response. The fields are unknown, because a peer can send anything. */
export interface RpcError {
  readonly code: unknown;
  readonly message: unknown;
  readonly data?: unknown;
}

/** A JSON-RPC 2.0 message that was received. */
export type Message =
  | IncomingRequest
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  /** The peer no longer needs the result of its request. */
  | { readonly kind: "cancellation"; readonly id: RequestId }
  | { readonly kind: "result"; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RequestId; readonly error: RpcError };

export interface IncomingRequest {
  readonly kind: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
}

const CANCEL = "$/cancelRequest";

/** Parses a message. Returns undefined if the message is invalid. */
export function readMessage(data: Buffer): Message | undefined {
  let message: unknown;
  try {
    message = JSON.parse(data.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isRecord(message)) return undefined;
  const { id, method, params, result, error } = message;
  if (typeof method === "string") {
    if (isId(id)) return { kind: "request", id, method, params };
    if (!method.startsWith("$/")) return { kind: "notification", method, params };
    const cancelled = method === CANCEL && isRecord(params) ? params["id"] : undefined;
    return isId(cancelled) ? { kind: "cancellation", id: cancelled } : undefined;
  }
  if (!isId(id)) return undefined;
  if (!isRecord(error)) return { kind: "result", id, result };
  return { kind: "error", id, error: { code: error["code"], message: error["message"], data: error["data"] } };
}

/** A message to send: a request, a notification or the answer to a request. */
type Sent =
  | { readonly id?: RequestId; readonly method: string; readonly params: object }
  | { readonly id: RequestId; readonly result: unknown }
  | { readonly id: RequestId; readonly error: RpcError };

export function writeMessage(message: Sent): string {
  return JSON.stringify({ jsonrpc: "2.0", ...message });
}

/** Returns a notification that cancels a request. */
export function cancellationOf(id: RequestId): string {
  return writeMessage({ method: CANCEL, params: { id } });
}

function isId(value: unknown): value is RequestId {
  return typeof value === "number" || typeof value === "string";
}
