import type { ModelError, ModelErrorCode } from "../../protocol/index.ts";
import { type ProviderError, parseObject, providerErrorOf } from "../answer.ts";
import { isKnownAnywhere, nearestModels } from "../providers/describe-model.ts";
import type { ProviderInfo } from "../providers/provider-info.ts";
import type { ResponseHead } from "./connector.ts";

/**
 * Whether to repeat a request. `few` allows fewer attempts than `yes`, and is used for servers that send invalid
 * responses or no response.
 */
export type Retry = "no" | "few" | "yes";

/** Describes why one attempt failed, and whether it may be repeated. */
export interface Failure {
  readonly error: ModelError;
  readonly retry: Retry;
  /** Minimum wait that the server requested. */
  readonly retryAfterMs?: number;
  /**
   * How the provider pushed back. `refused`: the provider named a limit or a time to wait, which may apply to all
   * requests from this process. `overloaded`: the provider gave no details, so the problem may concern only this
   * request.
   */
  readonly pushback?: "refused" | "overloaded";
}

interface FailureDetails {
  readonly message: string;
  readonly retry?: Retry;
  readonly status?: number;
}

export function failure(code: ModelErrorCode, { message, retry = "no", status }: FailureDetails): Failure {
  return { error: { code, message, status }, retry };
}

interface ErrorAnswer extends ResponseHead {
  readonly body: string;
  /** Time of day, used to read dates in headers. */
  readonly now: number;
}

/** Classifies a response with an error status. */
export function failureOfStatus({ status, headers, body, now }: ErrorAnswer, info: ProviderInfo): Failure {
  if (status >= 300 && status < 400) return redirected(status, headers["location"], info);
  const error = errorOf(body);
  const base = classify(status, error, info);
  const retryAfterMs = retryAfterOf(headers, now) ?? error.retryAfterMs;
  const retry = retryByHeader(headers, base);
  if (retryAfterMs !== undefined) return { ...base, retry, retryAfterMs, pushback: "refused" };
  return { ...base, retry, ...pushbackOf(status, base) };
}

/** Classifies an error inside a response with status 200 or inside a stream. */
export function providerFailure(error: ProviderError, info: ProviderInfo): Failure {
  const status = statusOfType(error.type) ?? 500;
  const made = classify(status, error, info);
  const { code, message } = made.error;
  const { retryAfterMs } = error;
  const wait = retryAfterMs === undefined ? pushbackOf(status, made) : { retryAfterMs, pushback: "refused" as const };
  return { error: { code, message }, retry: made.retry, ...wait };
}

function pushbackOf(status: number, { error }: Failure): Pick<Failure, "pushback"> {
  if (error.code === "rate_limited") return { pushback: "refused" };
  return status >= 500 || error.code === "overloaded" ? { pushback: "overloaded" } : {};
}

function statusOfType(type: string): number | undefined {
  return statusByType.find(([pattern]) => pattern.test(type))?.[1];
}

const statusByType: readonly (readonly [RegExp, number])[] = [
  [/overloaded/, 529],
  [/UNAVAILABLE/, 503],
  [/DEADLINE_EXCEEDED/, 504],
  [/rate_limit|RESOURCE_EXHAUSTED/, 429],
  [/authentication|invalid_api_key|UNAUTHENTICATED/, 401],
  [/permission/i, 403],
  [/not_found/i, 404],
  [
    /invalid_request|bad_request|invalid_prompt|context_length_exceeded|image|INVALID_ARGUMENT|FAILED_PRECONDITION/,
    400,
  ],
];

function classify(status: number, error: ProviderError, info: ProviderInfo): Failure {
  const { provider, host, model } = info;
  const said = error.message === "" ? "" : `: ${sentenceless(info.quote(error.message))}`;
  const text = `${error.type} ${error.message}`;
  const make = (code: ModelErrorCode, message: string, retry: Retry = "no") =>
    failure(code, { message, status, retry });

  // Google calls every limit a quota. One that asks for a wait until the same day is a limit on the rate of requests.
  const isRate = error.retryAfterMs !== undefined && !/PerDay/.test(error.type);
  if (status === 402 || (spendCap.test(text) && !isRate)) {
    return make(
      "spend_cap",
      `${provider} refused to serve this account${said}. Check the account's credit and spending limit.`,
    );
  }
  if (status === 403 && noAccess.test(text)) {
    return make("auth", `${provider} does not let this key use the model ${model}${said}. ${accessFix(info)}.`);
  }
  if (status === 401 || status === 403 || /API_KEY_INVALID|API key not valid/.test(text))
    return make("auth", `${provider} denied access${said}. ${keyFix(info)}.`);
  if (status === 413 || (status < 500 && status !== 429 && overflow.test(text))) {
    return make("context_overflow", `The conversation is too long for ${model}${said}. Compact it or start a new one.`);
  }
  if (status === 400 && refusedThinking.test(text)) {
    return make(
      "thinking_refused",
      `${provider} refused the thinking in this conversation${said}. Start a new session, or choose another model with the \`model\` option.`,
    );
  }
  if (status < 500 && unknownModel.test(text)) return make("unknown_model", unknownModelMessage(info, said));
  if (status === 404 && /not_found_error|NOT_FOUND/.test(error.type))
    return make("unknown_model", unknownModelMessage(info, said));
  const isNotSetUp = toolsNotSetUp.test(text);
  if (isNotSetUp || ([400, 404].includes(status) && withoutTools.test(text))) {
    const fix = isNotSetUp ? `Start the server with support for tools, or choose` : "Choose";
    return make(
      "unsupported",
      `${model} does not support tools${said}. ${fix} another model with the \`model\` option.`,
    );
  }
  if (status === 404 || status === 405) {
    return make("protocol", `${host} has no model API at this address (status ${status})${said}. ${addressFix(info)}.`);
  }
  if (status === 400 && /function tools with reasoning_effort are not supported/i.test(text)) {
    const fix = `Set providers.${provider}.dialect to "responses" in your settings if ${host} supports OpenAI's Responses API. Otherwise leave out the effort, or choose another model with the \`model\` option, such as gpt-6-sol`;
    return make(
      "unsupported",
      `${model} does not support tools over Chat Completions, at least at this effort${said}. ${fix}.`,
    );
  }
  if (status === 429)
    return make(
      "rate_limited",
      `${provider} is limiting the rate of requests${said}. Wait a moment, or ask the provider for a higher limit.`,
      "yes",
    );
  if (status === 529 || /overloaded/.test(error.type)) {
    return make("overloaded", `${provider} is overloaded${said}. Try again later or choose another model.`, "yes");
  }
  if (status === 408 || status === 409 || status >= 500) {
    const retry = retried.has(status) ? "yes" : "no";
    return make("server", `${provider} (${host}) failed with status ${status}${said}. Try again later.`, retry);
  }
  return make(
    "bad_request",
    `${provider} rejected the request with status ${status}${said}. Check the model and your settings.`,
  );
}

const retried = new Set([408, 409, 500, 502, 503, 504]);

const spendCap =
  /insufficient_quota|billing|credit balance|exceeded your current quota|insufficient (funds|credits?|balance)|spend(ing)?[ _](cap|limit)|reached your specified API usage limits|payment required/i;
const overflow =
  /prompt is too long|context_length_exceeded|maximum context length|exceeds? (the )?(available )?(model'?s? )?(maximum )?context|context (window|length|size|limit) (of|is|exceeded)|request_too_large|too many (input )?tokens|input is too long|input token count[^.]*exceeds/i;
/** Reasons that no longer apply once the thinking is left out and the provider's summary is sent as text. */
const refusedThinking =
  /compaction_(?:signature_invalid|content_mismatch|block_misplaced)|\bcompaction\b[^.]*\bexpected (?:tags|content)|encrypted content[^.]* could not be verified|invalid_encrypted_content|of type 'reasoning' was provided without|bound to a different conversation|missing a thought_signature|(corrupted|invalid) thought[ _]signature|thought[ _]signature is not valid|invalid `?(signature|data)`? in `?(redacted_)?thinking|thinking`? blocks[^.]*cannot be modified/i;
const unknownModel =
  /model_not_found|(model|deployment)[^.]{0,80}(not found|does not exist|not exist|is not available|unknown)|(unknown|invalid|no such) model|not_found_error[^.]{0,20}model/i;

/** Reasons why a key can't use a model, as providers state them. */
const noAccess =
  /access to (the )?model|permission to use the specified resource|model_not_found|not (allowed|authorized) to use/i;
/** Statements that a model, or every server for it, has no tools. */
const withoutTools =
  /does not support (tools|tool use|function calling)|tool (use|calling) is not supported|no endpoints found that support tool use/i;
/** Statements of vLLM and llama.cpp that the server was started without support for tools. */
const toolsNotSetUp = /--enable-auto-tool-choice|tools param requires --jinja/i;

function addressFix({ provider, dialect, isSupplied }: ProviderInfo): string {
  if (isSupplied) return "Check the base URL that the program passes to its model";
  const [other, name] =
    dialect === "openai" ? ["anthropic", "Anthropic's format"] : ["openai", "OpenAI's Chat Completions"];
  return `Check the base URL of ${provider}. If its server supports ${name} instead, set providers.${provider}.dialect to "${other}" in your settings`;
}

function unknownModelMessage({ provider, model, isSupplied }: ProviderInfo, said: string): string {
  if (isSupplied) return `${provider} has no model named "${model}"${said}. Choose another one in the program.`;
  const near = isKnownAnywhere(model) ? [] : nearestModels(model);
  const guess = near.length === 0 ? "" : ` Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
  return `${provider} has no model named "${model}"${said}.${guess} Choose another one with the \`model\` option.`;
}

function keyFix({ keyVariable, provider, isSupplied }: ProviderInfo): string {
  if (isSupplied) return "Check the key that the program passes to its model";
  if (keyVariable === undefined)
    return `Set providers.${provider}.apiKeyEnv in your settings to the name of the environment variable that contains its key`;
  return `Check the key in ${keyVariable}`;
}

function accessFix({ keyVariable, isSupplied }: ProviderInfo): string {
  if (isSupplied) return "Choose another model in the program";
  const key = keyVariable === undefined ? "Use another key" : `Set another key in ${keyVariable}`;
  return `${key}, or choose another model with the \`model\` option`;
}

function redirected(status: number, location: string | undefined, info: ProviderInfo): Failure {
  const to = location === undefined ? "" : ` to ${info.quote(location.replace(/[?#].*$/, ""))}`;
  const message = `${info.host} redirects${to} (status ${status}). Set the base URL of ${info.provider} to the final address.`;
  return failure("protocol", { message, status });
}

/**
 * Returns whether to retry. A header from the provider overrides the status, but a spending cap or an invalid key is
 * never retried.
 */
function retryByHeader(headers: ResponseHead["headers"], { error, retry }: Failure): Retry {
  if (error.code === "spend_cap" || error.code === "auth") return "no";
  if (headers["x-should-retry"] === "false") return "no";
  return headers["x-should-retry"] === "true" ? "yes" : retry;
}

/** Returns the delay that the server requested, in milliseconds, if any. `now` is the time of day. */
export function retryAfterOf(headers: ResponseHead["headers"], now: number): number | undefined {
  const milliseconds = Number.parseFloat(String(headers["retry-after-ms"] ?? ""));
  if (milliseconds >= 0 && Number.isFinite(milliseconds)) return milliseconds;
  const value = headers["retry-after"]?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * Reads an error in any known format: Anthropic's, OpenAI's, a bare string, `message`, `detail`, or text that is not
 * JSON.
 */
function errorOf(body: string): ProviderError {
  const whole = parseObject(body);
  const value = (Array.isArray(whole) ? whole[0] : whole) as
    | { error?: unknown; message?: unknown; detail?: unknown; type?: unknown }
    | undefined;
  if (value === undefined) return { type: "", message: body.trimStart().startsWith("<") ? "" : body };
  if (typeof value.error === "object" && value.error !== null) {
    const { message } = value.error as { message?: unknown };
    return { ...providerErrorOf(value.error), message: words(message) };
  }
  const message = words(value.error) || words(value.message) || words(value.detail);
  return {
    type: words(value.type),
    message: message || (value.detail === undefined ? "" : JSON.stringify(value.detail)),
  };
}

function words(...values: readonly unknown[]): string {
  return values.filter((value) => typeof value === "string" && value !== "").join(" ");
}

function sentenceless(text: string): string {
  return text.replace(/(?<![.\s])[.\s]+$/, "");
}
