import { isRecord, misspelledName } from "../../lib/index.ts";
import {
  type AgentBudget,
  type AgentColor,
  type AgentDefinition,
  agentColors,
  type DefinitionSource,
  definitionHookEvents,
  type HookEntry,
  type JsonObject,
  type McpServerUse,
  readHookEntries,
} from "../../protocol/index.ts";
import type { AgentField } from "./field-names.ts";
import type { AgentFieldReader, Field } from "./field-reader.ts";
import {
  isEmpty,
  numberOf,
  readBoolean,
  readChoice,
  readCount,
  readDurationMs,
  readText,
  wrongType,
} from "./field-values.ts";
import { ignoreInPlugin } from "./permission-fields.ts";
import { readToolList, splitList } from "./tool-list.ts";
import { checkToolNames } from "./unknown-tools.ts";

type OptionalReader = (reader: AgentFieldReader, source: DefinitionSource) => unknown;

/** Readers for fields that can be ignored without giving the agent more rights. */
export const optionalFields: Partial<Record<AgentField, OptionalReader>> = {
  model: readModel,
  effort: (reader) => readChoice(reader, { name: "effort", values: ["low", "medium", "high", "xhigh", "max"] }),
  maxTurns: (reader) => readCount(reader, "maxTurns"),
  timeout: (reader) => readDurationMs(reader, "timeout"),
  timeoutMins: (reader) =>
    reader.get("timeout") === undefined ? minutesToMs(readCount(reader, "timeoutMins")) : undefined,
  contextTokens: (reader) => readCount(reader, "contextTokens"),
  budget: readBudget,
  acceptance: (reader) => readText(reader, "acceptance"),
  outputSchema: readSchema,
  color: readColor,
  background: (reader) => readBoolean(reader, "background"),
  memory: (reader) => readChoice(reader, { name: "memory", values: ["user", "project", "local"] }),
  requiredTools: (reader) => readNames(reader, "requiredTools"),
  skills: (reader) => readNames(reader, "skills")?.map((name) => name.replace(/^\//, "")),
  mcpServers: (reader, source) => (source === "plugin" ? ignoreInPlugin(reader, "mcpServers") : readServers(reader)),
  hooks: (reader, source) => (source === "plugin" ? ignoreInPlugin(reader, "hooks") : readHooks(reader)),
  isolation: (reader) => readChoice(reader, { name: "isolation", values: ["worktree"] }),
  omitProjectContext: (reader) => readBoolean(reader, "omitProjectContext"),
  forkContext: (reader) => readBoolean(reader, "forkContext"),
  criticalReminder: (reader) => readText(reader, "criticalReminder"),
  initialPrompt: (reader) => readText(reader, "initialPrompt"),
  hidden: (reader) => readBoolean(reader, "hidden"),
  // In opencode, `mode: primary` marks an agent that people talk to. It can be used by name, but is not offered for
  // delegation.
  mode: (reader) =>
    readChoice(reader, { name: "mode", values: ["primary", "subagent", "all"] }) === "primary" ? true : undefined,
};

/** Properties of the definition whose names differ from their fields. */
export const targets: Partial<Record<AgentField, keyof AgentDefinition>> = {
  timeout: "timeoutMs",
  timeoutMins: "timeoutMs",
  mode: "hidden",
};

function minutesToMs(minutes: number | undefined): number | undefined {
  return minutes === undefined ? undefined : minutes * 60_000;
}

function readModel(reader: AgentFieldReader): string | undefined {
  const field = reader.get("model");
  if (field === undefined || !Array.isArray(field.value)) return readText(reader, "model")?.trim();
  const first: unknown = field.value[0];
  if (typeof first !== "string") return readText(reader, "model");
  reader.warn(field, {
    code: "wrong_type",
    message: `"${field.key}" is a list; only the first item, "${first.slice(0, 60)}", is used.`,
    fix: `Write ${reader.syntax.entry(field.key, first.slice(0, 60))}.`,
  });
  return first;
}

/** Reads a color. Many files have colors that other programs support, which is not worth a warning on every run. */
function readColor(reader: AgentFieldReader): AgentColor | undefined {
  const field = reader.get("color");
  const text = readText(reader, "color")?.trim();
  if (field === undefined || text === undefined) return undefined;
  const color = agentColors.find((each) => each === text.toLowerCase());
  if (color !== undefined) return color;
  const meant = misspelledName(text, agentColors);
  const list = `${agentColors.slice(0, -1).join(", ")} or ${agentColors.at(-1)}`;
  reader.notice(field, {
    code: "unknown_color",
    message: `The color "${text.slice(0, 40)}" is unknown, so the agent is shown without a color. Use ${list}.`,
    fix: meant === undefined ? undefined : `Did you mean "${meant}"?`,
  });
  return undefined;
}

/** Reads a JSON Schema, which is checked when the agent starts. */
function readSchema(reader: AgentFieldReader): JsonObject | undefined {
  const field = reader.get("outputSchema");
  if (field === undefined || isEmpty(field)) return undefined;
  if (isRecord(field.value)) return field.value as JsonObject;
  wrongType(reader, field, "a JSON Schema");
  return undefined;
}

const budgetKeys = ["tokens", "usd", "turns", "seconds", "spawns", "concurrent"] as const;

function readBudget(reader: AgentFieldReader): AgentBudget | undefined {
  const field = reader.get("budget");
  if (field === undefined || isEmpty(field)) return undefined;
  if (typeof field.value !== "object" || Array.isArray(field.value)) {
    wrongType(reader, field, `a mapping of ${budgetKeys.join(", ")}`);
    return undefined;
  }
  const budget: Record<string, number> = {};
  for (const [key, value] of Object.entries(field.value as Record<string, unknown>)) {
    const amount = numberOf(value);
    if (amount !== undefined && amount >= 0 && (budgetKeys as readonly string[]).includes(key)) budget[key] = amount;
    else
      reader.warn(field, {
        code: "wrong_type",
        message: `"${field.key}" contains "${key.slice(0, 40)}: ${String(value).slice(0, 40)}", which is ignored.`,
        fix: `Write numbers for ${budgetKeys.join(", ")}.`,
      });
  }
  return Object.keys(budget).length === 0 ? undefined : budget;
}

function readNames(reader: AgentFieldReader, name: "requiredTools" | "skills"): readonly string[] | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const list = readToolList(field);
  if (list === undefined) wrongType(reader, field, "names separated by commas, or a list of names");
  else if (name === "requiredTools") checkToolNames(reader, name, { granted: list.listed });
  return list?.listed;
}

function readServers(reader: AgentFieldReader): readonly McpServerUse[] | undefined {
  const field = reader.get("mcpServers");
  if (field === undefined || isEmpty(field)) return undefined;
  const servers = readMcpServers(field);
  if (servers === undefined)
    wrongType(reader, field, "a list of server names, or a mapping from names to configurations");
  const where = reader.placeOf(field);
  return where === undefined ? servers : servers?.map((server) => ({ ...server, where }));
}

/** Reads names, `{name: config}`, or a list of both. Returns undefined for any other value. */
function readMcpServers({ value }: Field): readonly McpServerUse[] | undefined {
  if (typeof value === "string") return splitList(value)?.map((name) => ({ name }));
  if (Array.isArray(value)) {
    const uses = value.map((item) => (typeof item === "string" ? [{ name: item.trim() }] : fromMap(item)));
    return uses.includes(undefined) ? undefined : uses.flatMap((use) => use ?? []);
  }
  return fromMap(value);
}

function fromMap(value: unknown): McpServerUse[] | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const uses: McpServerUse[] = [];
  for (const [name, config] of Object.entries(value)) {
    if (config === null || config === true) uses.push({ name });
    else if (typeof config === "object" && !Array.isArray(config)) uses.push({ name, config: config as JsonObject });
    else return undefined;
  }
  return uses;
}

const hookFixes = {
  yaml: 'Write "PreToolUse: [{matcher: Bash, command: ./check.sh}]" below "hooks:" (or PostToolUse, Stop).',
  json: 'Write "hooks": {"PreToolUse": [{"matcher": "Bash", "command": "./check.sh"}]} (or PostToolUse, Stop).',
};

function readHooks(reader: AgentFieldReader): readonly HookEntry[] | undefined {
  const field = reader.get("hooks");
  if (field === undefined || isEmpty(field)) return undefined;
  const { hooks, problems } = readHookEntries(field.value, definitionHookEvents);
  for (const { message, unknown } of problems) {
    const meant = unknown && misspelledName(unknown.name, unknown.valid);
    const fix = meant === undefined ? hookFixes[reader.syntax.form] : `Did you mean "${meant}"?`;
    reader.warn(field, { code: "foreign_hooks", message, fix });
  }
  if (hooks.length === 0) return undefined;
  const where = reader.placeOf(field);
  return where === undefined ? hooks : hooks.map((hook) => ({ ...hook, where }));
}
