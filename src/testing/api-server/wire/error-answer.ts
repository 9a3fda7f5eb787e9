import type { Fault, RetryAfter, Wire } from "../types.ts";
import { geminiError } from "./wire-gemini.ts";

export type ErrorAnswer = { status: number; headers: Record<string, string>; body: string };

/** Returns an error response in the provider's format. */
export function errorAnswer(
  wire: Wire,
  status: number,
  details: { type?: string | undefined; message?: string | undefined } = {},
): ErrorAnswer {
  const type = details.type ?? (wire === "anthropic" ? anthropicTypes[status] : openaiTypes[status]) ?? "api_error";
  const message = details.message ?? `Scripted error ${status}`;
  const errors: Record<Wire, () => object> = {
    anthropic: () => ({ type: "error", error: { type, message } }),
    openai: () => ({ error: { message, type, param: null, code: openaiCodes[status] ?? null } }),
    responses: () => errors.openai(),
    gemini: () => ({ error: geminiError(status, { type: details.type, message }) }),
  };
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(errors[wire]()) };
}

/** Returns the response for a fault that replaces the scripted reply; undefined for all other faults. */
export function faultAnswer(wire: Wire, fault: Fault): ErrorAnswer | undefined {
  if (fault.kind === "html") {
    return { status: 200, headers: { "content-type": "text/html; charset=utf-8" }, body: htmlPage };
  }
  if (fault.kind === "spend-cap") return spendCap(wire, fault.status ?? 429);
  if (fault.kind !== "status") return undefined;
  if (wire === "gemini") return geminiStatus(fault);
  const answer = errorAnswer(wire, fault.status, { type: fault.errorType, message: fault.message });
  const headers = { ...answer.headers, ...retryAfterHeaders(fault.retryAfter), ...fault.headers };
  return { status: fault.status, headers, body: fault.body ?? answer.body };
}

/** Google sends no `retry-after`. The time to wait is in the error, and its message sounds like a limit on spending. */
function geminiStatus({ status, message, errorType, retryAfter, body, headers }: StatusFault): ErrorAnswer {
  const delay = retryAfter && `${secondsOf(retryAfter).toFixed(9)}s`;
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: delay };
  const exceeded = "You exceeded your current quota, please check your plan and billing details.";
  const usual = delay && status === 429 ? `${exceeded} Please retry in ${delay}.` : resourceMessages[status];
  const error = geminiError(status, {
    type: errorType,
    message: message ?? usual ?? `Scripted error ${status}`,
    ...(delay ? { details: [retryInfo] } : {}),
  });
  const all = { "content-type": "application/json; charset=UTF-8", ...headers };
  return { status, headers: all, body: body ?? JSON.stringify({ error }, null, 2) };
}

type StatusFault = Extract<Fault, { kind: "status" }>;

const resourceMessages: Record<number, string> = {
  401: "API key not valid. Please pass a valid API key.",
  429: "Resource has been exhausted (e.g. check quota).",
  503: "The model is overloaded. Please try again later.",
};

const anthropicTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

const openaiTypes: Record<number, string> = {
  400: "invalid_request_error",
  401: "invalid_request_error",
  403: "invalid_request_error",
  404: "invalid_request_error",
  429: "rate_limit_error",
  500: "server_error",
  502: "server_error",
  503: "server_error",
};

const openaiCodes: Record<number, string> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
};

const htmlPage =
  "<!doctype html><html><head><title>Gateway</title></head><body><h1>Please sign in</h1></body></html>\n";

function spendCap(wire: Wire, status: 400 | 402 | 429): ErrorAnswer {
  if (wire === "gemini") {
    const message = "Your prepayment credits are depleted. Manage your project and billing in AI Studio.";
    return errorAnswer(wire, status, { message, type: "RESOURCE_EXHAUSTED" });
  }
  if (wire !== "anthropic") {
    const message = "You exceeded your current quota, please check your plan and billing details.";
    const error = { message, type: "insufficient_quota", param: null, code: "insufficient_quota" };
    return { status, headers: { "content-type": "application/json" }, body: JSON.stringify({ error }) };
  }
  if (status === 400) return errorAnswer(wire, 400, { message: "Your credit balance is too low to access the API." });
  return errorAnswer(wire, status, {
    type: "billing_error",
    message: "The organization's spend limit has been reached.",
  });
}

function retryAfterHeaders(retryAfter: RetryAfter | undefined): Record<string, string> {
  if (retryAfter === undefined) return {};
  if ("seconds" in retryAfter) return { "retry-after": String(retryAfter.seconds) };
  if ("milliseconds" in retryAfter) return { "retry-after-ms": String(retryAfter.milliseconds) };
  return { "retry-after": new Date(Date.now() + retryAfter.dateInSeconds * 1000).toUTCString() };
}

function secondsOf(retryAfter: RetryAfter): number {
  if ("seconds" in retryAfter) return retryAfter.seconds;
  return "milliseconds" in retryAfter ? retryAfter.milliseconds / 1_000 : retryAfter.dateInSeconds;
}
