import { checkSchema, isRecord } from "../lib/index.ts";
import { forkChoices, type JsonSchema, permissionModes } from "../protocol/index.ts";
import { agentProblems } from "./agent-settings.ts";

export interface SettingsCheck {
  /** Messages that name the key. */
  readonly problems: readonly string[];
  /** The same messages with their top-level key. */
  readonly wrong: readonly { readonly key: string; readonly message: string }[];
  /** Unknown top-level keys. They are kept and reported. */
  readonly unknown: readonly string[];
}

/** Checks that a value has the shape of `Settings`. Invalid values are problems: guessing could loosen a rule. */
export function checkSettings(value: unknown): SettingsCheck {
  if (!isRecord(value)) {
    const message = "settings must be an object: { … }";
    return { problems: [message], wrong: [{ key: "", message }], unknown: [] };
  }
  const { agents } = value;
  const wrong = [
    ...checkSchema(schema, value).map(({ path, message }) => ({
      key: path.split(/[.[]/, 1)[0] ?? "",
      message: `${path} ${message}`,
    })),
    ...(isRecord(agents) ? agentProblems(agents) : []).map((message) => ({ key: "agents", message })),
  ];
  return {
    problems: wrong.map(({ message }) => message),
    wrong,
    unknown: Object.keys(value).filter((key) => !Object.hasOwn(properties, key) && key !== "$schema"),
  };
}

const text: JsonSchema = { type: "string", minLength: 1 };
const count: JsonSchema = { type: "integer", minimum: 1 };
const seconds: JsonSchema = { type: "number", minimum: 1 };
const texts: JsonSchema = { type: "array", items: text };
const price: JsonSchema = { type: "number", minimum: 0 };
const prices: JsonSchema = {
  type: "object",
  properties: { input: price, output: price, cacheRead: price, cacheWrite: price, cacheWrite1h: price },
  required: ["input", "output", "cacheRead", "cacheWrite"],
};

const provider: JsonSchema = {
  type: "object",
  properties: {
    dialect: { enum: ["anthropic", "openai"] },
    baseUrl: { type: "string", pattern: "^https?://" },
    apiKeyEnv: text,
    models: { type: "object", properties: { small: text, medium: text, large: text } },
    window: count,
    maxOutputTokens: count,
    prices: { type: "object", additionalProperties: prices },
    headers: { type: "object", additionalProperties: { type: "string" } },
    maxTokensField: { enum: ["max_tokens", "max_completion_tokens"] },
  },
};

const budget: JsonSchema = {
  type: "object",
  properties: {
    tokens: count,
    usd: { type: "number", minimum: 0 },
    turns: count,
    seconds: { type: "number", minimum: 1 },
    spawns: { type: "integer", minimum: 0 },
    concurrent: count,
  },
  // A misspelt limit would have no effect.
  additionalProperties: false,
};

const properties: Record<string, JsonSchema> = {
  provider: text,
  model: text,
  effort: { enum: ["low", "medium", "high", "xhigh", "max"] },
  providers: { type: "object", additionalProperties: provider },
  permissions: {
    type: "object",
    properties: {
      allow: texts,
      ask: texts,
      deny: texts,
      defaultMode: { enum: [...permissionModes] },
      additionalDirectories: texts,
      disableBypassPermissionsMode: { enum: ["disable"] },
    },
  },
  search: {
    type: "object",
    properties: { engine: { enum: ["searxng", "brave", "anthropic", "off"] }, baseUrl: text, apiKeyEnv: text },
    required: ["engine"],
  },
  sandbox: {
    anyOf: [
      { enum: ["auto", "require", "off"] },
      {
        type: "object",
        properties: {
          mode: { enum: ["auto", "require", "off"] },
          network: { type: "object", properties: { allowedDomains: texts } },
          filesystem: {
            type: "object",
            properties: { allowWrite: { type: "array", items: { type: "string", pattern: "^~?/" } } },
          },
        },
      },
    ],
  },
  maxTurns: count,
  timeouts: {
    type: "object",
    properties: { bash: { type: "number", minimum: 1, maximum: 600 }, webFetch: seconds, mcp: seconds },
  },
  profile: { enum: ["standard", "compact"] },
  verify: { enum: ["off", "suggest", "auto"] },
  budget,
  cleanupPeriodDays: { type: "integer", minimum: 0 },
  env: { type: "object", additionalProperties: { type: "string" } },
  hooks: { type: "object", additionalProperties: { type: "array", items: { type: "object" } } },
  disableAllHooks: { type: "boolean" },
  agents: { type: "object" },
  background: {
    type: "object",
    properties: {
      approvals: { enum: ["inbox", "deny"] },
      preapprove: { type: "boolean" },
      waitSeconds: { type: "number", minimum: 0 },
    },
  },
  subagents: {
    type: "object",
    properties: {
      mcpTools: { enum: ["always", "foreground", "never"] },
      // To block a part of a tool, use permissions.deny.
      blockedTools: { type: "array", items: { type: "string", pattern: "^[^()\\s]+$" } },
      allowQuestions: { enum: ["never", "foreground"] },
      background: { type: "boolean" },
      guide: { type: "boolean" },
      maxSpawns: { type: "integer", minimum: 0 },
      timeoutSeconds: { type: "number", minimum: 0 },
      idleSeconds: { type: "number", minimum: 1 },
      model: { type: "string" },
      maxDepth: { type: "integer", minimum: 0, maximum: 8 },
      parallel: { type: "boolean" },
    },
  },
  fork: { enum: [...forkChoices] },
  mcpServers: { type: "object", additionalProperties: { type: "object" } },
  cache: { type: "object", properties: { lifetime: { enum: ["5m", "1h"] } } },
  compaction: { type: "object", properties: { percent: { type: "number", minimum: 1, maximum: 100 } } },
};

const schema: JsonSchema = { type: "object", properties };
