import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Settings } from "../../protocol/index.ts";
import { type ProviderChoice, type ProviderRequest, resolveProvider } from "./resolve-provider.ts";

type Wish = { settings?: Settings; environment?: ProviderRequest["environment"]; flags?: ProviderRequest["flags"] };

function choose({ settings = {}, environment = {}, flags = {} }: Wish): ProviderChoice {
  return resolveProvider({ settings, environment, flags });
}

function wired(wish: Wish): Extract<ProviderChoice, { kind: "wire" }> {
  const choice = choose(wish);
  if (choice.kind !== "wire") throw new Error(JSON.stringify(choice));
  return choice;
}

const anthropicKey = { ANTHROPIC_API_KEY: "sk-ant-secret" };
const openaiKey = { OPENAI_API_KEY: "sk-oai-secret" };
const lab: Settings = {
  providers: {
    lab: { baseUrl: "http://lab.test:8000/v1", models: { small: "tiny", large: "huge" }, window: 32_000 },
    gateway: { baseUrl: "https://gw.test", dialect: "anthropic", apiKeyEnv: "GW_KEY", headers: { "X-Team": "a" } },
  },
};

describe("the chosen provider", () => {
  it("is the offline model if nothing is configured, with a hint on how to change that", () => {
    const choice = choose({});
    expect(choice).toMatchObject({ kind: "offline" });
    expect(choice.kind === "offline" && choice.notice).toMatch(/not a language model.*ANTHROPIC_API_KEY/);
    expect(choose({ environment: { ANTHROPIC_API_KEY: " " } }).kind).toBe("offline");
  });

  it("is the offline model if it is requested by name, whatever keys exist", () => {
    expect(choose({ environment: anthropicKey, flags: { provider: "offline" } }).kind).toBe("offline");
    expect(choose({ environment: anthropicKey, flags: { model: "offline" } }).kind).toBe("offline");
    expect(choose({ environment: anthropicKey, settings: { provider: "offline" } }).kind).toBe("offline");
  });

  it("depends on the keys in the environment, and each kind of key is sent in its own header", () => {
    const byKey = wired({ environment: anthropicKey });
    expect(byKey).toMatchObject({ provider: { name: "anthropic", keyVariable: "ANTHROPIC_API_KEY" }, requested: null });
    expect(byKey.provider.secretHeaders()).toEqual({ "x-api-key": "sk-ant-secret" });
    expect(byKey.reason).toContain("ANTHROPIC_API_KEY");
    const byToken = wired({ environment: { ANTHROPIC_AUTH_TOKEN: "tok" } });
    expect(byToken.provider.secretHeaders()).toEqual({ authorization: "Bearer tok" });
    const openai = wired({ environment: openaiKey });
    expect(openai.provider.name).toBe("openai");
    expect(openai.provider.secretHeaders()).toEqual({ authorization: "Bearer sk-oai-secret" });
  });

  it("speaks OpenAI's Responses API with OpenAI itself, and Chat Completions with compatible servers", () => {
    const spoken = (baseUrl: string, settings: Settings = {}) =>
      wired({ environment: { ...openaiKey, OPENAI_BASE_URL: baseUrl }, settings: { ...settings, provider: "openai" } })
        .provider.dialect;
    expect(wired({ environment: openaiKey }).provider.dialect).toBe("responses");
    for (const address of ["https://api.openai.com", "https://api.openai.com/v1/", "https://eu.api.openai.com/v1"])
      expect(spoken(address)).toBe("responses");
    for (const address of [
      "http://127.0.0.1:9/v1",
      "https://api.openai.com.test/v1",
      "https://my-api.openai.company/v1",
    ])
      expect(spoken(address)).toBe("openai");
    expect(spoken("http://127.0.0.1:9", { providers: { openai: { dialect: "responses" } } })).toBe("responses");
    expect(spoken("https://api.openai.com", { providers: { openai: { dialect: "openai" } } })).toBe("openai");
    const mine = { baseUrl: "https://api.openai.com/v1", apiKeyEnv: "OPENAI_API_KEY" };
    const named = wired({ environment: openaiKey, settings: { provider: "mine", model: "m", providers: { mine } } });
    expect(named.provider).toMatchObject({ name: "mine", dialect: "responses" });
    expect(named.provider.secretHeaders()).toEqual({ authorization: "Bearer sk-oai-secret" });
  });

  it("speaks Google's API with Gemini, whose key has two names", () => {
    const both = wired({ environment: { GOOGLE_API_KEY: "two", GEMINI_API_KEY: "one" } });
    expect(both).toMatchObject({ model: "gemini-3.8-flash", provider: { name: "gemini", dialect: "gemini" } });
    expect([both.provider.keyVariable, both.provider.secretHeaders()]).toEqual([
      "GEMINI_API_KEY",
      { "x-goog-api-key": "one" },
    ]);
    const other = wired({ environment: { GOOGLE_API_KEY: "two" }, flags: { model: "large" } });
    expect([other.model, other.provider.keyVariable]).toEqual(["gemini-4-argon", "GOOGLE_API_KEY"]);
    // Other services of Google use this key too.
    const server = { OPENAI_BASE_URL: "http://127.0.0.1:9/v1", GOOGLE_API_KEY: "two" };
    expect(wired({ environment: server, flags: { model: "qwen" } }).provider.name).toBe("openai");
    const byModel = wired({
      environment: { ...anthropicKey, GEMINI_API_KEY: "k" },
      flags: { model: "gemini-4-argon" },
    });
    expect(byModel.provider.name).toBe("gemini");
    const elsewhere = wired({ environment: { GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:9" } });
    expect(elsewhere.provider).toMatchObject({ name: "gemini", dialect: "gemini", baseUrl: "http://127.0.0.1:9" });
    const missing = resolveProvider({ settings: {}, environment: anthropicKey, flags: { model: "gemini-4-argon" } });
    expect(missing).toMatchObject({ kind: "problem", message: expect.stringContaining("Set GEMINI_API_KEY") });
    const flags = { provider: "gemini" };
    const noKey = resolveProvider({ settings: {}, environment: {}, flags });
    expect(noKey).toMatchObject({ message: expect.stringContaining("Set GEMINI_API_KEY or GOOGLE_API_KEY") });
  });

  it("needs no key at a different address", () => {
    const choice = wired({ environment: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }, flags: { model: "qwen" } });
    expect(choice).toMatchObject({ model: "qwen", provider: { name: "openai", baseUrl: "http://127.0.0.1:9/v1" } });
    expect(choice.provider.secretHeaders()).toEqual({});
    expect(wired({ environment: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } }).provider.name).toBe("anthropic");
  });

  it("comes from flags, then settings, then the environment", () => {
    const environment = { ...anthropicKey, ...openaiKey };
    expect(wired({ environment }).provider.name).toBe("anthropic");
    expect(wired({ environment, settings: { provider: "openai" } }).provider.name).toBe("openai");
    const flagged = wired({
      environment,
      settings: { provider: "openai", model: "gpt-x" },
      flags: { provider: "anthropic" },
    });
    expect(flagged.provider.name).toBe("anthropic");
    // The model in the settings is for the provider in the settings.
    expect(flagged.model).not.toBe("gpt-x");
  });

  it("is taken from provider/model only if the first part names a provider", () => {
    expect(wired({ settings: lab, flags: { model: "lab/org/model:7b" } })).toMatchObject({
      model: "org/model:7b",
      provider: { name: "lab" },
    });
    expect(wired({ settings: lab, flags: { provider: "lab", model: "org/model" } }).model).toBe("org/model");
    expect(wired({ environment: anthropicKey, flags: { model: "ollama/llama3" } })).toMatchObject({
      model: "llama3",
      provider: { name: "ollama", baseUrl: "http://127.0.0.1:11434/v1" },
    });
    const settings = { ...lab, provider: "lab" };
    expect(wired({ settings, environment: anthropicKey, flags: { model: "anthropic/claude-x" } })).toMatchObject({
      model: "claude-x",
      provider: { name: "anthropic" },
    });
  });

  it("is the maker of the model if there are several keys", () => {
    const environment = { ...anthropicKey, ...openaiKey };
    expect(wired({ environment, flags: { model: "gpt-6-sol" } }).provider.name).toBe("openai");
    expect(wired({ environment, flags: { model: "claude-opus-5-5" } }).provider.name).toBe("anthropic");
    // A gateway at OpenAI's variable may offer other makers' models.
    const gateway = { ...openaiKey, OPENAI_BASE_URL: "https://gw.test" };
    expect(wired({ environment: gateway, flags: { model: "claude-opus-5-5" } }).provider.name).toBe("openai");
  });

  it("maps tiers and their aliases to the nearest tier of the provider", () => {
    for (const [alias, other] of [
      ["small", "haiku"],
      ["medium", "sonnet"],
      ["large", "opus"],
    ] as const) {
      const model = wired({ environment: anthropicKey, flags: { model: alias } }).model;
      expect(wired({ environment: anthropicKey, flags: { model: other } })).toMatchObject({ model, requested: other });
      expect(model).toContain(other);
    }
    expect(wired({ settings: lab, flags: { model: "lab/haiku" } }).model).toBe("tiny");
    expect(wired({ settings: lab, flags: { model: "lab/medium" } }).model).toBe("huge");
    const settings = { providers: { anthropic: { models: { small: "mine" } } } };
    expect(wired({ settings, environment: anthropicKey, flags: { model: "haiku" } }).model).toBe("mine");
  });

  it.each([
    ["Sonnet", "claude-sonnet-5-5"],
    ["sonnet[1m]", "claude-sonnet-5-5"],
    ["opus[1M]", "claude-opus-5-5"],
    ["anthropic/opus[1m]", "claude-opus-5-5"],
    ["best", "claude-opus-5-5"],
    ["default", "claude-sonnet-5-5"],
    ["fable", "claude-fable-5-2"],
    ["claude-sonnet-5-5[1m]", "claude-sonnet-5-5"],
    ["claude-opus-4.5", "claude-opus-4-5"],
    ["Claude-Haiku-4-5-20251001", "claude-haiku-4-5-20251001"],
    ["claude-4.5-sonnet", "claude-sonnet-4-5"],
    ["haiku-4-5", "claude-haiku-4-5"],
    ["opencode/claude-opus-5-5", "claude-opus-5-5"],
    ["openrouter/anthropic/claude-opus-4.7", "claude-opus-4-7"],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"],
    ["claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"],
    ["claude-next-9", "claude-next-9"],
  ])("resolves the names that other programs use: %s", (name, model) => {
    expect(wired({ environment: { ...openaiKey, ...anthropicKey }, flags: { model: name } })).toMatchObject({
      provider: { name: "anthropic" },
      model,
      requested: name,
      notice: undefined,
    });
  });

  it("explains a name that does not mean what it means elsewhere", () => {
    const noticeOf = (wish: Wish) => wired({ environment: anthropicKey, ...wish }).notice;
    expect(noticeOf({ flags: { model: "opusplan" } })).toMatch(/Retinue uses the medium one\. Write "medium"/);
    const suffix = noticeOf({ flags: { model: "claude-haiku-4-5[1m]" } });
    expect(suffix).toMatch(/^"claude-haiku-4-5\[1m\]" has no larger .* 200,000 tokens for claude-haiku-4-5\.$/);
    const unknown = wired({ settings: lab, flags: { model: "lab/qwen[1m]" } });
    expect([unknown.model, unknown.notice]).toEqual(["qwen", expect.stringContaining("set providers.lab.window")]);
  });

  it("leaves the names of a gateway's models alone", () => {
    for (const model of ["anthropic/claude-opus-4.5", "claude-3-opus-20240229", "Claude-Opus-5-5"]) {
      const choice = wired({ settings: { ...lab, provider: "lab", model } });
      expect([choice.provider.name, choice.model]).toEqual(["lab", model]);
    }
  });

  it("includes the settings of a named provider", () => {
    const choice = wired({ settings: lab, environment: { GW_KEY: "gwsecret" }, flags: { model: "gateway/m" } });
    expect(choice.provider.secretHeaders()).toEqual({ "x-api-key": "gwsecret", "x-team": "a" });
    expect(wired({ settings: lab, flags: { provider: "lab" } }).provider).toMatchObject({
      dialect: "openai",
      window: 32_000,
    });
  });
});

describe("an error about the provider says what to do", () => {
  it.each<[string, Wish, RegExp, string?]>([
    ["a key is missing", { flags: { provider: "anthropic" } }, /ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN/],
    [
      "a named key is missing",
      { settings: { ...lab, provider: "gateway" } },
      /Set GW_KEY in the environment/,
      "providers.gateway",
    ],
    ["a provider in the settings is mistyped", { settings: { provider: "opnai" } }, /mean "openai"/, "provider"],
    ["a model in the settings has no provider", { settings: { model: "gpt-6-sol" } }, /OPENAI_API_KEY/, "model"],
    ["a provider is mistyped", { flags: { provider: "antropic" } }, /no provider "antropic".*Did you mean "anthropic"/],
    [
      "a provider has no address",
      { settings: { provider: "x", providers: { x: {} } } },
      /providers\.x\.baseUrl/,
      "providers.x",
    ],
    [
      "an address is invalid",
      { settings: { provider: "x", providers: { x: { baseUrl: "lab:8000" } } } },
      /http:\/\//,
      "providers.x",
    ],
    ["a model is needed", { flags: { provider: "ollama" } }, /the `model` option.*ollama list/],
    ["a model has no provider", { flags: { model: "gpt-6-sol" } }, /OPENAI_API_KEY/],
    [
      "a model is another maker's",
      { environment: openaiKey, flags: { model: "claude-opus-5-5" } },
      /openai does not offer the model "claude-opus-5-5", which is one of anthropic's\. Set ANTHROPIC_API_KEY/,
    ],
    [
      "a model is retired",
      { environment: anthropicKey, settings: { model: "claude-3-5-sonnet-20241022" } },
      /anthropic has not offered the model "claude-3-5-sonnet-20241022" since 2025-10-28\. Use "medium" \(claude-sonnet-5-5\)/,
      "model",
    ],
    [
      "a key has a line break inside",
      { environment: { ANTHROPIC_API_KEY: "a\nb" } },
      /ANTHROPIC_API_KEY.*Copy the key again/,
    ],
    [
      "a header can't be sent",
      { settings: { provider: "x", model: "m", providers: { x: { baseUrl: "http://h", headers: { "a b": "c" } } } } },
      /providers\.x\.headers/,
      "providers.x",
    ],
  ])("%s", (_, wish, message, setting) => {
    const choice = choose(wish);
    expect(choice).toMatchObject({ kind: "problem", message: expect.stringMatching(message) });
    expect(choice).toHaveProperty("setting", setting);
  });

  it("even if a name is that of an inherited object member", () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      expect(choose({ flags: { provider: name } }).kind).toBe("problem");
      expect(wired({ environment: anthropicKey, flags: { model: name } }).model).toBe(name);
    }
  });
});

describe("keys", () => {
  it("never appear in text, no matter how the choice is printed", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."abcXYZ019-_"), minLength: 8, maxLength: 40 }), (key) => {
        const choice = choose({ environment: { ANTHROPIC_API_KEY: key } });
        expect(choice.kind).toBe("wire");
        expect(JSON.stringify(choice)).not.toContain(key);
        expect(inspect(choice, { depth: 9, showHidden: true })).not.toContain(key);
      }),
      { numRuns: 50 },
    );
  });
});
