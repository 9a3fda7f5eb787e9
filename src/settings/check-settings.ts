import { checkSchema } from "../lib/index.ts";
import { type JsonSchema, permissionModes } from "../protocol/index.ts";

export interface SettingsCheck {
  /** One sentence each, naming the key. */
  readonly problems: readonly string[];
  /** Top-level keys we don't know: kept, and told. */
  readonly unknown: readonly string[];
}

/** Whether a value has the shape of `Settings`. A wrong value is a problem: guessing could loosen a rule. */
export function checkSettings(value: unknown): SettingsCheck {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problems: ["settings must be an object: { … }"], unknown: [] };
  }
  const problems = checkSchema(schema, value).map(({ path, message }) => `${path} ${message}`);
  const known = new Set(Object.keys(properties));
  return { problems, unknown: Object.keys(value).filter((key) => !known.has(key)) };
}

const text: JsonSchema = { type: "string", minLength: 1 };
const count: JsonSchema = { type: "integer", minimum: 1 };
const texts: JsonSchema = { type: "array", items: text };
const price: JsonSchema = { type: "number", minimum: 0 };
const prices: JsonSchema = {
  type: "object",
  properties: { input: price, output: price, cacheRead: price, cacheWrite: price },
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
    },
  },
  search: {
    type: "object",
    properties: { engine: { enum: ["searxng", "brave", "anthropic", "off"] }, baseUrl: text, apiKeyEnv: text },
    required: ["engine"],
  },
  maxTurns: count,
  cleanupPeriodDays: { type: "integer", minimum: 0 },
};

const schema: JsonSchema = { type: "object", properties };
