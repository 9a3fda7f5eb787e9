import { describe, expect, it } from "vitest";
import { providerAt } from "../wire.test-support.ts";
import { baseUrlProblem, commonHeaders, hostOf, messagesUrl, modelsUrl } from "./endpoint.ts";

describe("addresses derived from a base URL", () => {
  it.each([
    ["https://api.anthropic.com", "anthropic", "https://api.anthropic.com/v1/messages"],
    ["https://api.anthropic.com/v1/", "anthropic", "https://api.anthropic.com/v1/messages"],
    ["https://gw.test/claude", "anthropic", "https://gw.test/claude/v1/messages"],
    ["http://127.0.0.1:11434", "openai", "http://127.0.0.1:11434/v1/chat/completions"],
    ["http://127.0.0.1:11434/v1", "openai", "http://127.0.0.1:11434/v1/chat/completions"],
    ["https://host.test/v1beta/openai/", "openai", "https://host.test/v1beta/openai/chat/completions"],
    ["https://host.test", "responses", "https://host.test/v1/responses"],
    ["https://host.test/openai/v1/responses", "responses", "https://host.test/openai/v1/responses"],
    ["https://host.test/api/v4", "openai", "https://host.test/api/v4/chat/completions"],
    ["https://host.test/v1/chat/completions", "openai", "https://host.test/v1/chat/completions"],
    ["https://host.test/v1?api-version=2", "openai", "https://host.test/v1/chat/completions?api-version=2"],
  ] as const)("%s (%s)", (base, dialect, expected) => {
    expect(messagesUrl(base, dialect, "any").href).toBe(expected);
    const [path, query = ""] = expected.replace(/\/(messages|chat\/completions|responses)/, "/models").split("?");
    expect(modelsUrl(base, dialect).href).toBe(query === "" ? path : `${path}?${query}`);
  });

  it.each([
    ["https://generativelanguage.googleapis.com", "gemini-4-argon", "https://generativelanguage.googleapis.com/v1beta"],
    ["https://gw.test/google/v1/", "tuned/a?b", "https://gw.test/google/v1"],
    ["https://gw.test/google/v1beta/models?key=1", "gemini-4-argon", "https://gw.test/google/v1beta"],
  ])("%s names the model %s (gemini)", (base, model, expected) => {
    const { href, searchParams } = messagesUrl(base, "gemini", model);
    const path = `${expected}/models/${model.replace("?", "%3F")}:streamGenerateContent?`;
    expect(href.startsWith(path)).toBe(true);
    expect([searchParams.get("alt"), searchParams.get("key")]).toEqual(["sse", base.includes("key") ? "1" : null]);
    const list = modelsUrl(base, "gemini");
    expect([list.href.split("?")[0], list.searchParams.get("pageSize")]).toEqual([`${expected}/models`, "1000"]);
  });

  it("never show user names or passwords", () => {
    expect(hostOf(new URL("https://me:secret@host.test:8443/v1"))).toBe("host.test:8443");
  });

  it.each([
    "ftp://me:hush@host.test/v1",
    "http://me:hush@host.test:port",
    "me:hush@host.test",
    "ftp://me:h@sh@host.test",
  ])("are rejected without showing the credentials in %s", (url) =>
    expect(baseUrlProblem(url)).toMatch(/^"(?!.*(hush|sh@|me:))/),
  );

  it("are rejected if they are invalid", () => {
    expect(baseUrlProblem("localhost:11434")).toMatch(/http:\/\//);
    expect(baseUrlProblem("nonsense")).toMatch(/not a URL/);
    expect(baseUrlProblem("http://me:100%@localhost:11434")).toMatch(
      /^its user name or password is not percent-encoded/,
    );
    expect(baseUrlProblem("http://me:100%25@localhost:11434")).toBeUndefined();
    expect(baseUrlProblem("http://localhost:11434")).toBeUndefined();
  });
});

it("the header for compaction is added to the configured ones, and only where it is needed", () => {
  const provider = providerAt("https://host.test", "anthropic");
  const own = { ...provider, secretHeaders: () => ({ "anthropic-beta": "other" }) };
  const betas = [provider, own].flatMap((each) => [commonHeaders(each), commonHeaders(each, true)]);
  const compaction = "compact-2026-09-04";
  expect(betas.map((headers) => headers["anthropic-beta"])).toEqual([
    undefined,
    compaction,
    "other",
    `other,${compaction}`,
  ]);
});
