import {
  type AgentBudget,
  type AgentDefinition,
  type DefinitionSource,
  definitionHookEvents,
  type HookEntry,
  type McpServerUse,
  readHookEntries,
} from "../../protocol/index.ts";
import type { AgentField } from "./field-names.ts";
import type { FieldReader } from "./field-reader.ts";
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
import { readMcpServers } from "./mcp-servers-field.ts";
import { ignoreInPlugin } from "./permission-fields.ts";
import { readToolList } from "./tool-list.ts";

type Reader = FieldReader<AgentField>;
type OptionalReader = (reader: Reader, source: DefinitionSource) => unknown;

/** Everything that can be left out without giving the agent more rights. */
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
  color: (reader) => readText(reader, "color")?.trim(),
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
  // opencode's `mode: primary` is an agent for people to talk to: reachable by name, not offered for delegation.
  mode: (reader) =>
    readChoice(reader, { name: "mode", values: ["primary", "subagent", "all"] }) === "primary" ? true : undefined,
};

/** Where a field stands in the definition when not under its own name. */
export const targets: Partial<Record<AgentField, keyof AgentDefinition>> = {
  timeout: "timeoutMs",
  timeoutMins: "timeoutMs",
  mode: "hidden",
};

function minutesToMs(minutes: number | undefined): number | undefined {
  return minutes === undefined ? undefined : minutes * 60_000;
}

function readModel(reader: Reader): string | undefined {
  const field = reader.get("model");
  if (field === undefined || !Array.isArray(field.value)) return readText(reader, "model")?.trim();
  const first: unknown = field.value[0];
  if (typeof first !== "string") return readText(reader, "model");
  reader.warn(field, {
    code: "wrong_type",
    message: `"${field.key}" is a list; only the first, "${first.slice(0, 60)}", is used.`,
    fix: `Write ${reader.words.entry(field.key, first.slice(0, 60))}.`,
  });
  return first;
}

const budgetKeys = ["tokens", "usd", "turns", "seconds", "spawns", "concurrent"] as const;

function readBudget(reader: Reader): AgentBudget | undefined {
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
        message: `"${field.key}" has "${key.slice(0, 40)}: ${String(value).slice(0, 40)}", which is ignored.`,
        fix: `Write numbers for ${budgetKeys.join(", ")}.`,
      });
  }
  return Object.keys(budget).length === 0 ? undefined : budget;
}

function readNames(reader: Reader, name: "requiredTools" | "skills"): readonly string[] | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const list = readToolList(field);
  if (list === undefined) wrongType(reader, field, "names separated by commas, or a list of names");
  return list?.listed;
}

function readServers(reader: Reader): readonly McpServerUse[] | undefined {
  const field = reader.get("mcpServers");
  if (field === undefined || isEmpty(field)) return undefined;
  const servers = readMcpServers(field);
  if (servers === undefined) wrongType(reader, field, "a list of server names, or a mapping of name to configuration");
  return servers;
}

const hookCures = {
  yaml: 'Write "PreToolUse: [{matcher: Bash, command: ./check.sh}]" below "hooks:" (or PostToolUse, Stop).',
  json: 'Write "hooks": {"PreToolUse": [{"matcher": "Bash", "command": "./check.sh"}]} (or PostToolUse, Stop).',
};

function readHooks(reader: Reader): readonly HookEntry[] | undefined {
  const field = reader.get("hooks");
  if (field === undefined || isEmpty(field)) return undefined;
  const { hooks, problems } = readHookEntries(field.value, definitionHookEvents);
  for (const { message } of problems)
    reader.warn(field, {
      code: "foreign_hooks",
      message,
      fix: hookCures[reader.words.form],
    });
  return hooks.length === 0 ? undefined : hooks;
}
