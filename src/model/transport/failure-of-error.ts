import { isRecord } from "../../lib/index.ts";
import { providerErrorOf } from "../answer.ts";
import { hostOf } from "../providers/endpoint.ts";
import type { ProviderInfo } from "../providers/provider-info.ts";
import { failureOfConnection } from "./connection-failure.ts";
import type { ResponseHead } from "./connector.ts";
import { type Failure, failureOfStatus, providerFailure } from "./failure.ts";

interface ErrorContext {
  readonly info: ProviderInfo;
  /** Time of day, used to read dates in headers. */
  readonly now: number;
  /** True if the model has answered before, so that a failed connection may be temporary. */
  readonly reached: boolean;
}

/**
 * Classifies an error that a program's model threw. HTTP errors are recognized by the properties that `fetch` responses
 * and the providers' SDKs have: `status` or `statusCode`, `headers` or `responseHeaders`, and `error`, `responseBody`
 * or `message`. The response can also be the error's `cause`. Failed connections are recognized by their codes. Returns
 * undefined for any other error.
 */
export function failureOfError(thrown: unknown, { info, now, reached }: ErrorContext): Failure | undefined {
  if (!isRecord(thrown)) return typeof thrown === "string" ? providerFailure(providerErrorOf(thrown), info) : undefined;
  const { url, isRetryable, cause } = thrown;
  const about = { ...info, host: hostIn(url) ?? info.host };
  const response = [thrown, cause].filter(isRecord).find((each) => statusOf(each) !== undefined);
  if (response !== undefined) {
    const answer = { status: statusOf(response) ?? 0, headers: headersOf(response), body: bodyOf(thrown), now };
    return withHint(failureOfStatus(answer, about), isRetryable);
  }
  const broken = connectionError(thrown);
  if (broken) return failureOfConnection(broken, { info: about, reached });
  const isReported = !(thrown instanceof Error) && typeof thrown["message"] === "string";
  return isReported ? providerFailure(providerErrorOf(thrown), info) : undefined;
}

function statusOf({ status, statusCode, code }: Record<string, unknown>): number | undefined {
  return [statusCode, status, code].find(
    (each): each is number => typeof each === "number" && each >= 300 && each < 600,
  );
}

/** What an SDK says about retries overrides the status, but a spending cap or an invalid key is never retried. */
function withHint(failed: Failure, isRetryable: unknown): Failure {
  const { code } = failed.error;
  if (typeof isRetryable !== "boolean" || code === "spend_cap" || code === "auth") return failed;
  return { ...failed, retry: isRetryable ? "yes" : "no" };
}

function hostIn(url: unknown): string | undefined {
  return typeof url === "string" && URL.canParse(url) ? hostOf(new URL(url)) : undefined;
}

function headersOf({ headers, responseHeaders = headers }: Record<string, unknown>): ResponseHead["headers"] {
  if (responseHeaders instanceof Headers) return Object.fromEntries(responseHeaders);
  const entries = isRecord(responseHeaders) ? Object.entries(responseHeaders) : [];
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function bodyOf({ responseBody, error, message, type, code }: Record<string, unknown>): string {
  if (typeof responseBody === "string" && responseBody !== "") return responseBody;
  if (isRecord(error)) return JSON.stringify(isRecord(error["error"]) ? error : { error });
  if (typeof type === "string" || typeof code === "string") return JSON.stringify({ error: { type, code, message } });
  return typeof message === "string" ? message : "";
}

/** Returns the error, or one of its causes, that says how a connection failed. */
function connectionError(error: unknown, depth = 0): NodeJS.ErrnoException | undefined {
  if (!isRecord(error) || depth > MOST_CAUSES) return undefined;
  const { code, message, cause, errors } = error;
  if (typeof code === "string" && connectionCode.test(code))
    return Object.assign(new Error(typeof message === "string" ? message : code), { code });
  const inner = Array.isArray(errors) ? errors[0] : undefined;
  return connectionError(cause, depth + 1) ?? connectionError(inner, depth + 1);
}

const MOST_CAUSES = 5;
const connectionCode =
  /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|EPROTO|EMFILE|ENFILE|UND_ERR_\w+|HPE_\w+|ERR_(SSL|TLS)_\w+|ERR_STREAM_PREMATURE_CLOSE|CERT_\w+|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|UNABLE_TO_\w+)$/;
