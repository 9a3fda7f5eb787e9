import { checkSchema, isRecord, misspelledName } from "../lib/index.ts";
import { dialects, forkChoices, type JsonSchema, permissionModes } from "../protocol/index.ts";
import { agentProblems } from "./agent-settings.ts";

export interface SettingsCheck {
  /** Messages, each of which names the key. */
  readonly problems: readonly string[];
  /** The same messages, each with the path of keys that leads to the value, starting at the top. */
  readonly wrong: readonly { readonly path: readonly string[]; readonly message: string }[];
  /** Unknown keys, which are kept and reported. */
  readonly unknown: readonly UnknownKey[];
}

export interface UnknownKey {
  /** Path of keys that leads to the unknown key, including the key itself. */
  readonly path: readonly string[];
  /** Known key that the user probably meant. */
  readonly meant?: string | undefined;
}

/**
 * Checks that a value has the shape of `Settings`. Invalid values are reported, never guessed, because a guess could
 * loosen a rule.
 */
export function checkSettings(value: unknown): SettingsCheck {
  if (!isRecord(value)) {
    const message = "settings must be an object: { … }";
    return { problems: [message], wrong: [{ path: [], message }], unknown: [] };
  }
  const { agents } = value;
  const wrong = [
    ...checkSchema(schema, value).map(({ path, message }) => ({
      path: path.split(/[.[\]]+/),
      message: `${path} ${message}`,
    })),
    ...(isRecord(agents) ? agentProblems(agents) : []).map((message) => ({ path: ["agents"], message })),
  ];
  return {
    problems: wrong.map(({ message }) => message),
    wrong,
    unknown: unknownKeys(value, schema, []).filter(({ path }) => path[0] !== "$schema"),
  };
}

function unknownKeys(value: Record<string, unknown>, schema: JsonSchema, path: readonly string[]): UnknownKey[] {
  const { known, other } = keysOf(schema);
  return Object.entries(value).flatMap(([key, each]) => {
    const property = known !== undefined && Object.hasOwn(known, key) ? known[key] : other;
    const here = [...path, key];
    if (property !== undefined) return isRecord(each) ? unknownKeys(each, property, here) : [];
    if (known === undefined) return [];
    const meant = misspelledName(key, Object.keys(known));
    return [{ path: here, meant: meant && [...path, meant].join(".") }];
  });
}

interface ObjectKeys {
  /** The keys of an object in which unknown keys have no effect; undefined if it may have any key. */
  readonly known?: Readonly<Record<string, JsonSchema>> | undefined;
  /** Schema of the values of an object that may have any key. */
  readonly other?: JsonSchema | undefined;
}

function keysOf(schema: JsonSchema): ObjectKeys {
  const form =
    (schema["anyOf"] as readonly JsonSchema[] | undefined)?.find((each) => each["type"] === "object") ?? schema;
  const { properties, additionalProperties } = form;
  if (additionalProperties !== undefined)
    return { other: isRecord(additionalProperties) ? (additionalProperties as JsonSchema) : undefined };
  return { known: properties as ObjectKeys["known"] };
}

const text: JsonSchema = { type: "string", minLength: 1 };
const count: JsonSchema = { type: "integer", minimum: 1 };
const seconds: JsonSchema = { type: "number", minimum: 1 };
const texts: JsonSchema = { type: "array", items: text };
const price: JsonSchema = { type: "number", minimum: 0 };
const tokenPrices = { input: price, output: price, cacheRead: price, cacheWrite: price, cacheWrite1h: price };
const requiredPrices = ["input", "output", "cacheRead", "cacheWrite"];
const longPrompts: JsonSchema = {
  type: "object",
  properties: { above: count, ...tokenPrices },
  required: ["above", ...requiredPrices],
  additionalProperties: false,
};
const prices: JsonSchema = {
  type: "object",
  properties: { ...tokenPrices, longPrompts: { type: "array", items: longPrompts } },
  required: requiredPrices,
};

const provider: JsonSchema = {
  type: "object",
  properties: {
    dialect: { enum: dialects },
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
  // Report unknown keys, because a misspelled limit would have no effect.
  additionalProperties: false,
};

const properties: Record<string, JsonSchema> = {
  agent: text,
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
      { type: "string", enum: ["auto", "require", "off"] },
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
  statusLine: {
    type: "object",
    properties: { type: { enum: ["command"] }, command: text, padding: { type: "integer", minimum: 0 } },
    required: ["command"],
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
  environment: {
    type: "object",
    properties: { pass: { type: "array", items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*\\*?$" } } },
  },
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
      // To block only some uses of a tool, use permissions.deny.
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
