import path from "node:path";
import type { AgentDefinition, DefinitionSource, Diagnostic, JsonValue } from "../../protocol/index.ts";
import { builtInAgents } from "../built-in/built-in-agents.ts";
import { isDisguised, mixesAlphabets, namedLetters, shapeOf } from "./confusable-name.ts";
import { type CureWords, yamlWords } from "./cure-words.ts";
import type { Field } from "./field.ts";
import { type AgentField, agentFieldNames } from "./field-names.ts";
import { type FieldProblem, FieldReader } from "./field-reader.ts";
import { booleanOf, describe, isEmpty, readText } from "./field-values.ts";
import { optionalFields, targets } from "./optional-fields.ts";
import { readPermission, readPermissionMode } from "./permission-fields.ts";
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
  return readAgentFields({ fields, file, source, plugin, defaultName: nameOfFile, diagnostics, body });
}

function nameOfFile(file: string): string {
  return path.basename(file).replace(/\.md$/i, "");
}

function isKnown(key: string): boolean {
  return agentFieldNames.resolve(key) !== undefined;
}

export interface AgentFields {
  readonly fields: readonly Field[];
  readonly file: string;
  readonly source: DefinitionSource;
  readonly plugin?: string | undefined;
  /** Of the file or of the entry, for an agent that does not say its name. */
  readonly defaultName: (file: string) => string;
  readonly diagnostics: Diagnostic[];
  readonly body: () => string;
  readonly words?: CureWords;
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
  const { fields, words = yamlWords } = request;
  const reader = new FieldReader({ file, fields, diagnostics, names: agentFieldNames, strict: strictFields, words });
  const name = readName(reader, () => defaultName(file));
  const definition: Draft = { name, description: readDescription(reader), source, file };
  if (plugin !== undefined) definition.plugin = plugin;
  const written = readRights(reader, { definition, source });
  for (const present of reader.present) {
    const readOptional = optionalFields[present];
    if (readOptional === undefined) continue;
    const value = readOptional(reader, source);
    if (value !== undefined) (definition as Record<string, unknown>)[targets[present] ?? present] = value;
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
      fix: `Add ${words.form === "yaml" ? "a line " : ""}${words.entry("description", "what it does; use it when ...")}.`,
    });
  if (!isNamed(definition) || reader.refused || isDisabled) return { diagnostics, written, body };
  return { definition, diagnostics, written, body };
}

type Reader = FieldReader<AgentField>;

type Draft = { -readonly [Key in keyof AgentDefinition]: AgentDefinition[Key] | undefined };

function isNamed(draft: Draft): draft is Draft & AgentDefinition {
  return draft.name !== undefined && draft.description !== undefined;
}

function readName(reader: Reader, defaultName: () => string): string | undefined {
  const name = readText(reader, "name")?.trim() ?? defaultName();
  const field = reader.get("name");
  const doubt = hasControls(name) ? undefined : doubtAboutName(name);
  if (doubt !== undefined) reader.warn(field ?? { key: "name", value: name, line: 1 }, doubt);
  if (!hasControls(name)) return name;
  if (field !== undefined)
    reader.refuse(field, {
      code: "bad_name",
      message: "The name contains control characters. The agent is not loaded.",
      fix: "Write the name with visible characters only.",
    });
  return undefined;
}

/** That others of the project's agents look the same only the catalog can tell. */
function doubtAboutName(name: string): FieldProblem | undefined {
  const meant = isDisguised(name)
    ? builtInAgents().find((each) => shapeOf(each.definition.name) === shapeOf(name))
    : undefined;
  if (meant === undefined && !mixesAlphabets(name)) return undefined;
  const about = `The name "${name.slice(0, 60)}" has ${namedLetters(name)}`;
  return {
    code: "confusable_name",
    message: meant
      ? `${about} and looks like the built-in agent "${meant.definition.name}", which it is not.`
      : `${about} among letters of another alphabet, so it can be taken for a name that it is not.`,
    fix: "Write each word of the name in one alphabet, and none that looks like another agent's.",
  };
}

function readDescription(reader: Reader): string | undefined {
  const field = reader.get("description");
  if (field !== undefined && Array.isArray(field.value) && field.value.every((item) => typeof item === "string")) {
    const text = field.value.join("\n").trim();
    if (text !== "") {
      reader.warn(field, {
        code: "wrong_type",
        message: `"${field.key}" is a list; its items were joined to one text.`,
        fix: `Write it as one text${reader.words.form === "yaml" ? ', below the key after "|" if it is long' : ""}.`,
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
    reader.notice(field, {
      code: "disabled",
      message: `Not loaded: "${field.key}" is on.`,
      fix: `Delete the ${reader.words.line}.`,
    });
  if (value === undefined)
    reader.refuse(field, {
      code: "wrong_type",
      message: `"${field.key}" must be true or false; it is ${describe(field.value)}. The agent is not loaded.`,
      fix: `Write ${reader.words.entry(field.key, true)}, or delete the ${reader.words.line}.`,
    });
  return value !== false;
}

const none: readonly string[] = [];

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
  const excluded = tools?.excluded.filter((name) => name !== "*") ?? none;
  const removed = disallowed === undefined ? excluded : [...disallowed.listed, ...excluded];
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

const exampleTools = ["Read", "Grep", "Bash(git diff *)"];

function readRightsList(reader: Reader, name: "tools" | "disallowedTools"): ToolList | undefined {
  const field = reader.get(name);
  if (field === undefined) return undefined;
  const { words } = reader;
  const list = readToolList(field);
  if (list === undefined)
    reader.refuse(field, {
      code: "unreadable_tools",
      message: `"${field.key}" can't be read. The agent is not loaded, so that it can't run with more tools than meant.`,
      fix: `Write names${words.form === "yaml" ? " separated by commas" : ""}: ${words.entry(field.key, exampleTools)}.`,
    });
  else if (name === "tools" && isEmpty(field))
    reader.warn(field, {
      code: "empty_tools",
      message: `"${field.key}" is empty, so the agent has no tools.`,
      fix: `Delete the ${words.line} to inherit all tools, or write ${words.entry(field.key, [])} if none are meant.`,
    });
  return list;
}
