import { describe, expect, it } from "vitest";
import { providerInfo } from "../providers/provider-info.ts";
import { providerAt } from "../wire.test-support.ts";
import { failureOfStatus } from "./failure.ts";

const info = providerInfo(providerAt("https://api.test", "anthropic"), "some-model");
const of = (status: number, message: string, headers = {}) =>
  failureOfStatus(
    { status, headers, body: JSON.stringify({ error: { type: "invalid_request_error", message } }), now: 0 },
    info,
  );

describe("the classification of an error response", () => {
  it.each([
    [400, "prompt is too long: 208310 tokens > 200000 maximum", "context_overflow"],
    [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", "context_overflow"],
    [400, "This model's maximum context length is 128000 tokens. However, you requested more", "context_overflow"],
    [400, "Your credit balance is too low to access the API", "spend_cap"],
    [400, "You have reached your specified API usage limits. You will regain access on 2026-12-01", "spend_cap"],
    [
      400,
      "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a ...",
      "thinking_refused",
    ],
    [400, "messages.1.content.0: Invalid `data` in `redacted_thinking` block", "thinking_refused"],
    [400, "`thinking` or `redacted_thinking` blocks in the latest message cannot be modified", "thinking_refused"],
    [
      400,
      "The encrypted content for item rs_1 could not be verified. Reason: it could not be parsed.",
      "thinking_refused",
    ],
    [400, "Item 'rs_1' of type 'reasoning' was provided without its required following item.", "thinking_refused"],
    [400, "compaction_content_mismatch: the block's content has changed", "thinking_refused"],
    [400, "messages.0.content.0: Input tag 'compaction' does not match any of the expected tags", "thinking_refused"],
    [400, "compaction: requires anthropic-beta: compact-2026-09-04", "bad_request"],
    [400, "messages.1.content.0.type: Expected `thinking`, but found `tool_use`", "bad_request"],
    [400, "messages.3: tool_use ids were found without tool_result blocks", "bad_request"],
    [400, "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens", "bad_request"],
    [404, "The model `x` does not exist or you do not have access to it", "unknown_model"],
    [429, "Number of request tokens has exceeded your per-minute rate limit", "rate_limited"],
    [400, "Function tools with reasoning_effort are not supported for x in /v1/chat/completions.", "unsupported"],
    [403, "Project `p` does not have access to model `x`", "auth"],
    [400, "gemma does not support tools", "unsupported"],
    [404, "No endpoints found that support tool use.", "unsupported"],
    [400, '"auto" tool choice requires --enable-auto-tool-choice to be set', "unsupported"],
    [500, "tools param requires --jinja flag", "unsupported"],
    [503, "model is loading", "server"],
  ])("%i %s: %s", (status, message, code) => {
    expect(of(status, message).error).toMatchObject({ code, status });
  });

  it("names the key, the model and similar models", () => {
    const about = (model: string) => providerInfo(providerAt("https://api.test", "anthropic"), model);
    const body = (message: string) => JSON.stringify({ error: { message } });
    const said = (status: number, message: string, model = "claude-opus-55") =>
      failureOfStatus({ status, headers: {}, body: body(message), now: 0 }, about(model)).error.message;
    expect(said(404, "model not found")).toContain('no model named "claude-opus-55": model not found. Did you mean "');
    expect(said(404, "model not found")).toContain('"claude-opus-5-5"');
    expect(said(404, "model not found", "claude-opus-5-5")).not.toContain("Did you mean");
    expect(said(403, "no access to model")).toMatch(
      /^anthropic does not let this key use the model claude-opus-55: .* Set another key in ANTHROPIC_API_KEY, or choose another model/,
    );
    expect(said(404, "Not Found")).toContain('set providers.anthropic.dialect to "openai" in your settings');
  });

  it("follows the provider's advice on retrying, unless a retry would be useless", () => {
    expect(of(500, "no", { "x-should-retry": "false" }).retry).toBe("no");
    expect(of(400, "no", { "x-should-retry": "true" }).retry).toBe("yes");
    expect(of(400, "Your credit balance is too low", { "x-should-retry": "true" }).retry).toBe("no");
    expect(of(401, "no", { "x-should-retry": "true" }).retry).toBe("no");
  });

  it.each([
    [429, {}, "refused"],
    [429, { "retry-after": "1" }, "refused"],
    [503, { "retry-after": "1" }, "refused"],
    [529, { "retry-after-ms": "20" }, "refused"],
    [500, {}, "overloaded"],
    [503, {}, "overloaded"],
    [529, {}, "overloaded"],
    [408, {}, undefined],
    [400, {}, undefined],
  ])("includes how the provider pushed back: %i %j", (status, headers, pushback) => {
    expect(of(status, "no", headers).pushback).toBe(pushback);
  });

  const google = (code: number, message: string, details: readonly object[] = []) =>
    failureOfStatus(
      { status: code, headers: {}, body: JSON.stringify({ error: { code, message, status: "X", details } }), now: 0 },
      info,
    );
  const exceeded = "You exceeded your current quota, please check your plan and billing details.";
  const retryInfo = (retryDelay: string) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
  const quota = (quotaId: string) => ({
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    violations: [{ quotaId }],
  });

  it.each<[string, ReturnType<typeof google>, object]>([
    [
      "a limit per minute, although it is called a quota",
      google(429, exceeded, [quota("RequestsPerMinutePerProject-FreeTier"), retryInfo("8.268544852s")]),
      { error: { code: "rate_limited" }, retry: "yes", retryAfterMs: 8_269, pushback: "refused" },
    ],
    [
      "a limit per day",
      google(429, exceeded, [quota("RequestsPerDayPerProject-FreeTier"), retryInfo("40s")]),
      { error: { code: "spend_cap" }, retry: "no" },
    ],
    ["a limit on spending", google(429, exceeded), { error: { code: "spend_cap" }, retry: "no" }],
    [
      "a limit without a time to wait",
      google(429, "Resource has been exhausted (e.g. check quota)."),
      { error: { code: "rate_limited" }, retry: "yes", pushback: "refused" },
    ],
    ["an overload", google(503, "The model is overloaded."), { error: { code: "server" }, retry: "yes" }],
    [
      "a wrong key",
      google(400, "API key not valid. Please pass a valid API key.", [{ reason: "API_KEY_INVALID" }]),
      { error: { code: "auth" }, retry: "no" },
    ],
    [
      "too long a prompt",
      google(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
      { error: { code: "context_overflow" } },
    ],
    [
      "a missing signature",
      google(400, "Function call is missing a thought_signature in functionCall parts. This is required."),
      { error: { code: "thinking_refused" } },
    ],
    ["another signature", google(400, "Corrupted thought signature."), { error: { code: "thinking_refused" } }],
  ])("understands Google's errors: %s", (_, failure, expected) => {
    expect(failure).toMatchObject(expected);
  });

  it("finds an error of Google in a list, and a model's name with a dot in it", () => {
    const message = "models/gemini-9.9 is not found for API version v1beta.";
    const body = JSON.stringify([{ error: { code: 404, message, status: "NOT_FOUND" } }]);
    expect(failureOfStatus({ status: 404, headers: {}, body, now: 0 }, info).error.code).toBe("unknown_model");
  });

  it("quotes a limited amount of text, on one line and without control characters", () => {
    const { message } = of(400, `bad\u001b[31m\nline ${"x".repeat(9_000)}`).error;
    expect(message.length).toBeLessThan(700);
    expect(message).toMatch(/bad line x/);
  });
});
