import path from "node:path";
import type { AgentBudget, AgentDefinition, DefinitionSource, Diagnostic, JsonValue } from "../../protocol/index.ts";
import type { Field } from "./field.ts";
import { type AgentField, agentFieldNames } from "./field-names.ts";
import { createFieldReader, type FieldReader } from "./field-reader.ts";
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
import { readPermission, readPermissionMode } from "./permission-fields.ts";
import { readFrontmatter } from "./read-frontmatter.ts";
import { readToolList, type ToolList } from "./tool-list.ts";

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
  const { bytes, file } = request;
  const isKnown = (key: string) => agentFieldNames.resolve(key) !== undefined;
  const { fields, diagnostics, body } = await readFrontmatter({ bytes, file, isKnown });
  if (fields === undefined) return { body, diagnostics, written: nothingWritten };
  const defaultName = path.basename(file).replace(/\.md$/i, "");
  return { ...readAgentFields({ ...request, fields, diagnostics, defaultName }), body };
}

export interface AgentFields {
  readonly fields: readonly Field[];
  readonly file: string;
  readonly source: DefinitionSource;
  readonly plugin?: string;
  readonly defaultName: string;
  readonly diagnostics: Diagnostic[];
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

export function readAgentFields(request: AgentFields): Omit<ReadAgent, "body"> {
  const { file, diagnostics, plugin } = request;
  const reader = createFieldReader({ ...request, names: agentFieldNames, strict: strictFields });
  const { rights, written } = readRights(reader, request);
  const name = readName(reader, request.defaultName);
  const description = readDescription(reader);
  const isDisabled = readDisable(reader);
  const rest = {
    ...readLimits(reader),
    ...readBehaviour(reader),
    ...(request.source === "plugin" ? reportPluginFields(reader) : readAttachments(reader)),
  };
  if (description === undefined)
    diagnostics.push({
      severity: "error",
      file,
      line: reader.get("description")?.line ?? request.fields[0]?.line ?? 1,
      code: "no_description",
      message: "The agent has no description, so nothing would ever be delegated to it. It is not loaded.",
      fix: 'Add a line "description: what it does; use it when ...".',
    });
  if (description === undefined || name === undefined || reader.refused || isDisabled) return { diagnostics, written };
  const definition = compact<AgentDefinition>({
    name,
    description,
    source: request.source,
    file,
    plugin,
    ...rights,
    ...rest,
    extra: reader.unknown,
  });
  return { definition, diagnostics, written };
}

function readName(reader: FieldReader<AgentField>, defaultName: string): string | undefined {
  const name = readText(reader, "name")?.trim() ?? defaultName;
  if (!/\p{Cc}/u.test(name)) return name;
  const field = reader.get("name");
  if (field !== undefined)
    reader.refuse(field, {
      code: "bad_name",
      message: "The name contains control characters. The agent is not loaded.",
      fix: "Write the name with visible characters only.",
    });
  return undefined;
}

function readDescription(reader: FieldReader<AgentField>): string | undefined {
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
function readDisable(reader: FieldReader<AgentField>): boolean {
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
function readRights(reader: FieldReader<AgentField>, { source }: AgentFields) {
  const tools = readRightsList(reader, "tools");
  const disallowed = readRightsList(reader, "disallowedTools");
  const isWildcard = tools?.inheritsRest === true || tools?.listed.includes("*") === true;
  // In `tools` a map's `false` takes away; in `disallowedTools` its `true` does.
  const removed = [...(disallowed?.listed ?? []), ...(tools?.excluded.filter((name) => name !== "*") ?? [])];
  const permissionMode = source === "plugin" ? undefined : readPermissionMode(reader, source);
  return {
    rights: {
      tools: tools === undefined || isWildcard ? undefined : tools.listed,
      disallowedTools: removed.length > 0 ? removed : undefined,
      permissionMode,
      permission: readPermission(reader),
    },
    written: {
      tools: tools?.listed ?? null,
      disallowedTools: disallowed?.listed ?? null,
      model: (reader.get("model")?.value as JsonValue | undefined) ?? null,
    },
  };
}

function readRightsList(reader: FieldReader<AgentField>, name: "tools" | "disallowedTools"): ToolList | undefined {
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

function readLimits(reader: FieldReader<AgentField>) {
  const minutes = readCount(reader, "timeoutMins");
  return {
    model: readModel(reader),
    effort: readChoice(reader, { name: "effort", values: ["low", "medium", "high", "xhigh", "max"] }),
    maxTurns: readCount(reader, "maxTurns"),
    timeoutMs: readDurationMs(reader, "timeout") ?? (minutes === undefined ? undefined : minutes * 60_000),
    contextTokens: readCount(reader, "contextTokens"),
    budget: readBudget(reader),
    acceptance: readText(reader, "acceptance"),
  };
}

function readModel(reader: FieldReader<AgentField>): string | undefined {
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

function readBudget(reader: FieldReader<AgentField>): AgentBudget | undefined {
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

function readBehaviour(reader: FieldReader<AgentField>) {
  return {
    color: readText(reader, "color")?.trim(),
    background: readBoolean(reader, "background"),
    memory: readChoice(reader, { name: "memory", values: ["user", "project", "local"] }),
    requiredTools: readNames(reader, "requiredTools"),
    skills: readNames(reader, "skills")?.map((name) => name.replace(/^\//, "")),
    isolation: readChoice(reader, { name: "isolation", values: ["worktree"] }),
    omitProjectContext: readBoolean(reader, "omitProjectContext"),
    forkContext: readBoolean(reader, "forkContext"),
    criticalReminder: readText(reader, "criticalReminder"),
    initialPrompt: readText(reader, "initialPrompt"),
    hidden: readHidden(reader),
  };
}

/** opencode's `mode: primary` is an agent for people to talk to: reachable by name, not offered for delegation. */
function readHidden(reader: FieldReader<AgentField>): true | undefined {
  const mode = readChoice(reader, { name: "mode", values: ["primary", "subagent", "all"] });
  return readBoolean(reader, "hidden") === true || mode === "primary" ? true : undefined;
}

function readNames(reader: FieldReader<AgentField>, name: "requiredTools" | "skills"): readonly string[] | undefined {
  const field = reader.get(name);
  if (field === undefined || isEmpty(field)) return undefined;
  const list = readToolList(field);
  if (list === undefined) wrongType(reader, field, "names separated by commas, or a list of names");
  return list?.listed;
}

function readAttachments(reader: FieldReader<AgentField>) {
  const servers = reader.get("mcpServers");
  const mcpServers = servers === undefined || isEmpty(servers) ? undefined : readMcpServers(servers);
  if (servers !== undefined && !isEmpty(servers) && mcpServers === undefined)
    wrongType(reader, servers, "a list of server names, or a mapping of name to configuration");
  const hooksField = reader.get("hooks");
  if (hooksField === undefined || isEmpty(hooksField)) return { mcpServers };
  const { hooks, problems } = readHooks(hooksField);
  for (const message of problems)
    reader.warn(hooksField, {
      code: "foreign_hooks",
      message,
      fix: 'Write "PreToolUse: [{matcher: Bash, command: ./check.sh}]" below "hooks:" (or PostToolUse, Stop).',
    });
  return { mcpServers, hooks: hooks.length === 0 ? undefined : hooks };
}

function reportPluginFields(reader: FieldReader<AgentField>): Record<string, never> {
  for (const name of ["hooks", "mcpServers", "permissionMode", "approvalMode"] as const) {
    const field = reader.get(name);
    if (field !== undefined)
      reader.warn(field, {
        code: "ignored_in_plugin",
        message: `"${field.key}" of an agent from a plugin is ignored.`,
        fix: "Configure it in your own settings, or copy the agent into your user scope.",
      });
  }
  return {};
}

/** Leaves out what is undefined: an absent field stays absent. */
function compact<Value extends object>(value: { [Key in keyof Value]: Value[Key] | undefined }): Value {
  for (const key of Object.keys(value) as (keyof Value)[]) if (value[key] === undefined) delete value[key];
  return value as Value;
}
