import path from "node:path";
import type {
  AgentBudget,
  AgentDefinition,
  DefinitionSource,
  Diagnostic,
  HookEntry,
  JsonValue,
  McpServerUse,
} from "../../protocol/index.ts";
import type { Field } from "./field.ts";
import { type AgentField, agentFieldNames } from "./field-names.ts";
import { FieldReader } from "./field-reader.ts";
import {
  booleanOf,
  describe,
  isEmpty,
  numberOf,
  readBoolean,
  readChoice,
  readCount,
  readDurationMs,
  readText,
  wrongType,
} from "./field-values.ts";
import { readHooks } from "./hooks-field.ts";
import { readMcpServers } from "./mcp-servers-field.ts";
import { ignoreInPlugin, readPermission, readPermissionMode } from "./permission-fields.ts";
import { readFrontmatter } from "./read-frontmatter.ts";
import { hasControls, readToolList, type ToolList } from "./tool-list.ts";

export interface DefinitionFile {
  readonly bytes: Uint8Array;
  /** Absolute path, for messages, the default name and `file`. */
  readonly file: string;
  readonly source: DefinitionSource;
  readonly plugin?: string;
}

/** What stands in the file, before aliases and defaults: for reports. */
export interface AsWritten {
  readonly tools: readonly string[] | null;
  readonly disallowedTools: readonly string[] | null;
  readonly model: JsonValue;
}

export interface ReadAgent {
  /** Undefined: not loaded; a diagnostic says why. */
  readonly definition?: AgentDefinition;
  /** The system prompt. Decoded when asked for, from the bytes that were given. */
  readonly body: () => string;
  readonly diagnostics: readonly Diagnostic[];
  readonly written: AsWritten;
}

const nothingWritten: AsWritten = { tools: null, disallowedTools: null, model: null };

/** Reads one Markdown agent file. Never rejects. */
export async function readAgentFile(request: DefinitionFile): Promise<ReadAgent> {
  const { bytes, file, source, plugin } = request;
  const { fields, diagnostics, body } = await readFrontmatter({ bytes, file, isKnown });
  if (fields === undefined) return { body, diagnostics, written: nothingWritten };
  const defaultName = path.basename(file).replace(/\.md$/i, "");
  return readAgentFields({ fields, file, source, plugin, defaultName, diagnostics, body });
}

function isKnown(key: string): boolean {
  return agentFieldNames.resolve(key) !== undefined;
}

export interface AgentFields {
  readonly fields: readonly Field[];
  readonly file: string;
  readonly source: DefinitionSource;
  readonly plugin?: string | undefined;
  readonly defaultName: string;
  readonly diagnostics: Diagnostic[];
  readonly body: () => string;
}

/** A wrong value where two guesses differ in rights is never guessed. */
const strictFields = new Set<AgentField>([
  "tools",
  "disallowedTools",
  "permissionMode",
  "permission",
  "approvalMode",
  "readonly",
]);

export function readAgentFields(request: AgentFields): ReadAgent {
  const { file, diagnostics, source, plugin, defaultName, body } = request;
  const { fields } = request;
  const reader = new FieldReader({ file, fields, diagnostics, names: agentFieldNames, strict: strictFields });
  const definition: Draft = { name: readName(reader, defaultName), description: readDescription(reader), source, file };
  if (plugin !== undefined) definition.plugin = plugin;
  const written = readRights(reader, { definition, source });
  for (const name of reader.present) {
    const readOptional = optionalFields[name];
    if (readOptional === undefined) continue;
    const value = readOptional(reader, source);
    if (value !== undefined) (definition as Record<string, unknown>)[targets[name] ?? name] = value;
  }
  if (reader.unknown !== undefined) definition.extra = reader.unknown;
  const isDisabled = readDisable(reader);
  if (definition.description === undefined)
    diagnostics.push({
      severity: "error",
      file,
      line: reader.get("description")?.line ?? request.fields[0]?.line ?? 1,
      code: "no_description",
      message: "The agent has no description, so nothing would ever be delegated to it. It is not loaded.",
      fix: 'Add a line "description: what it does; use it when ...".',
    });
  if (!isNamed(definition) || reader.refused || isDisabled) return { diagnostics, written, body };
  return { definition, diagnostics, written, body };
}

type Reader = FieldReader<AgentField>;

type Draft = { -readonly [Key in keyof AgentDefinition]: AgentDefinition[Key] | undefined };

function isNamed(draft: Draft): draft is Draft & AgentDefinition {
  return draft.name !== undefined && draft.description !== undefined;
}

function readName(reader: Reader, defaultName: string): string | undefined {
  const name = readText(reader, "name")?.trim() ?? defaultName;
  if (!hasControls(name)) return name;
  const field = reader.get("name");
  if (field !== undefined)
    reader.refuse(field, {
      code: "bad_name",
      message: "The name contains control characters. The agent is not loaded.",
      fix: "Write the name with visible characters only.",
    });
  return undefined;
}

function readDescription(reader: Reader): string | undefined {
  const field = reader.get("description");
  if (field !== undefined && Array.isArray(field.value) && field.value.every((item) => typeof item === "string")) {
    const text = field.value.join("\n").trim();
    if (text !== "") {
      reader.warn(field, {
        code: "wrong_type",
        message: `"${field.key}" is a list; its items were joined to one text.`,
        fix: 'Write it as one text, below the key after "|" if it is long.',
      });
      return text;
    }
  }
  const text = readText(reader, "description")?.trim();
  return text === "" ? undefined : text;
}

/** True also when it can't be read: an agent somebody switched off must not come back by a typing error. */
function readDisable(reader: Reader): boolean {
  const field = reader.get("disable");
  if (field === undefined || isEmpty(field)) return false;
  const value = booleanOf(field);
  if (value === true)
    reader.notice(field, { code: "disabled", message: `Not loaded: "${field.key}" is on.`, fix: "Delete the line." });
  if (value === undefined)
    reader.refuse(field, {
      code: "wrong_type",
      message: `"${field.key}" must be true or false; it is ${describe(field.value)}. The agent is not loaded.`,
      fix: `Write "${field.key}: true", or delete the line.`,
    });
  return value !== false;
}

/** What the agent may do: here a line that can't be read refuses the file. */
function readRights(
  reader: Reader,
  { definition, source }: { definition: Draft; source: DefinitionSource },
): AsWritten {
  const tools = readRightsList(reader, "tools");
  const disallowed = readRightsList(reader, "disallowedTools");
  const inheritsAll = tools === undefined || tools.inheritsRest === true || tools.listed.includes("*");
  if (!inheritsAll) definition.tools = tools.listed;
  // In `tools` a map's `false` takes away; in `disallowedTools` its `true` does.
  const removed = [...(disallowed?.listed ?? []), ...(tools?.excluded.filter((name) => name !== "*") ?? [])];
  if (removed.length > 0) definition.disallowedTools = removed;
  const mode = readPermissionMode(reader, source);
  if (mode !== undefined) definition.permissionMode = mode;
  const permission = readPermission(reader);
  if (permission !== undefined) definition.permission = permission;
  return {
    tools: tools?.listed ?? null,
    disallowedTools: disallowed?.listed ?? null,
    model: (reader.get("model")?.value as JsonValue | undefined) ?? null,
  };
}

function readRightsList(reader: Reader, name: "tools" | "disallowedTools"): ToolList | undefined {
  const field = reader.get(name);
  if (field === undefined) return undefined;
  const list = readToolList(field);
  if (list === undefined)
    reader.refuse(field, {
      code: "unreadable_tools",
      message: `"${field.key}" can't be read. The agent is not loaded, so that it can't run with more tools than meant.`,
      fix: `Write names separated by commas: "${field.key}: Read, Grep, Bash(git diff *)".`,
    });
  else if (name === "tools" && isEmpty(field))
    reader.warn(field, {
      code: "empty_tools",
      message: `"${field.key}" is empty, so the agent has no tools.`,
      fix: `Delete the line to inherit all tools, or write "${field.key}: []" if none are meant.`,
    });
  return list;
}

type OptionalReader = (reader: Reader, source: DefinitionSource) => unknown;

/** Everything that can be left out without giving the agent more rights. */
const optionalFields: Partial<Record<AgentField, OptionalReader>> = {
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
  hooks: (reader, source) => (source === "plugin" ? ignoreInPlugin(reader, "hooks") : readHookEntries(reader)),
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
const targets: Partial<Record<AgentField, keyof AgentDefinition>> = {
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
    fix: `Write "${field.key}: ${first.slice(0, 60)}".`,
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

function readHookEntries(reader: Reader): readonly HookEntry[] | undefined {
  const field = reader.get("hooks");
  if (field === undefined || isEmpty(field)) return undefined;
  const { hooks, problems } = readHooks(field);
  for (const message of problems)
    reader.warn(field, {
      code: "foreign_hooks",
      message,
      fix: 'Write "PreToolUse: [{matcher: Bash, command: ./check.sh}]" below "hooks:" (or PostToolUse, Stop).',
    });
  return hooks.length === 0 ? undefined : hooks;
}
