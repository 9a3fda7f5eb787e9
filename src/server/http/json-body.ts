import type { IncomingMessage } from "node:http";
import { formatBytes } from "../../lib/index.ts";
import { problem } from "./problem.ts";

/** Reads a request's body as JSON. Throws an `HttpProblem` if it is too large, nested too deeply or not JSON. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type))
    throw problem("not_json", "Send JSON, with a Content-Type: application/json header.");
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) throw problem("invalid_request", `The request has no body. ${SEND_OBJECT}`);
  const text = decode(bytes);
  if (depthOf(text) > DEEPEST)
    throw problem("invalid_request", `The body is nested more than ${DEEPEST} levels deep. Send a flatter one.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw problem("invalid_request", `The body is not valid JSON. ${SEND_OBJECT}`);
  }
  if (hasNul(value)) throw problem("invalid_request", "The body contains a NUL character. Remove it.");
  return value;
}

const SEND_OBJECT = 'Send a JSON object, such as {"prompt": "…"}. GET /docs describes the body.';

/** Checks a body's declared size before the body is read. Returns the problem, if there is one. */
export function sizeProblem({ headers }: IncomingMessage, maxBytes: number): ReturnType<typeof problem> | undefined {
  return Number(headers["content-length"] ?? 0) > maxBytes ? tooLarge(maxBytes) : undefined;
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw problem("invalid_request", "The connection was closed before the body was complete. Send it again.");
  }
  if (size > maxBytes) throw tooLarge(maxBytes);
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): ReturnType<typeof problem> {
  return problem(
    "body_too_large",
    `The request body is larger than ${formatBytes(maxBytes)}. Send less data per request.`,
  );
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw problem("invalid_request", "The body is not valid UTF-8. Encode the text as UTF-8.");
  }
}

const DEEPEST = 64;

/** Returns the nesting depth of a JSON text. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isString) {
      if (character === "\\") index += 1;
      else if (character === '"') isString = false;
    } else if (character === '"') isString = true;
    else if (character === "{" || character === "[") deepest = Math.max(deepest, ++depth);
    else if (character === "}" || character === "]") depth -= 1;
  }
  return deepest;
}

function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, each]) => key.includes("\0") || hasNul(each));
}
