import path from "node:path";
import { misspelledName } from "../../lib/index.ts";
import type { AgentDefinition, DefinitionSource, Diagnostic, JsonValue } from "../../protocol/index.ts";
import { builtInAgents } from "../built-in/built-in-agents.ts";
import { isDisguised, mixesAlphabets, namedLetters, shapeOf } from "./confusable-name.ts";
import { type AgentField, agentFieldNames } from "./field-names.ts";
import {
  type AgentFieldReader,
  type Field,
  type FieldProblem,
  FieldReader,
  type FieldSyntax,
  yamlSyntax,
} from "./field-reader.ts";
import { booleanOf, describe, isEmpty, readText } from "./field-values.ts";
import { optionalFields, targets } from "./optional-fields.ts";
import { readPermission, readPermissionMode } from "./permission-fields.ts";
import { readFrontmatter } from "./read-frontmatter.ts";
import { hasControls, readToolList, type ToolList } from "./tool-list.ts";
import { checkToolNames } from "./unknown-tools.ts";

export interface DefinitionFile {
  readonly bytes: Uint8Array;
  /** Absolute path of the file, used in messages and for the default name. */
  readonly file: string;
  readonly source: DefinitionSource;
  readonly plugin?: string | undefined;
}

/** Values as written in the file, before aliases and defaults are applied. Used in reports. */
export interface AsWritten {
  readonly tools: readonly string[] | null;
  readonly disallowedTools: readonly string[] | null;
  readonly model: JsonValue;
}

export interface ReadAgent {
  /** The agent; undefined if it was not loaded, in which case a diagnostic says why. */
  readonly definition?: AgentDefinition;
  /** Returns the system prompt, decoded on each call. */
  readonly body: () => string;
  readonly diagnostics: readonly Diagnostic[];
  readonly written: AsWritten;
}

const nothingWritten: AsWritten = { tools: null, disallowedTools: null, model: null };

/** Reads one Markdown agent file. The promise never rejects. */
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
  /** Returns the default name of an agent that has no `name` field. */
  readonly defaultName: (file: string) => string;
  readonly diagnostics: Diagnostic[];
  readonly body: () => string;
  readonly syntax?: FieldSyntax | undefined;
}

/** Fields that decide what the agent may do. An ambiguous value in one of them prevents the file from loading. */
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
  const { fields, syntax = yamlSyntax } = request;
  const reader = new FieldReader({
    file,
    fields,
    diagnostics,
    names: agentFieldNames,
    strict: strictFields,
    syntax,
    definedInCode: source === "flag",
  });
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
  if (definition.description === undefined) refuseWithoutDescription(reader, request.fields[0]);
  if (!isNamed(definition) || reader.refused || isDisabled) return { diagnostics, written, body };
  return { definition, diagnostics, written, body };
}

type Draft = { -readonly [Key in keyof AgentDefinition]: AgentDefinition[Key] | undefined };

function isNamed(draft: Draft): draft is Draft & AgentDefinition {
  return draft.name !== undefined && draft.description !== undefined;
}

function readName(reader: AgentFieldReader, defaultName: () => string): string | undefined {
  const name = readText(reader, "name")?.trim() ?? defaultName();
  const field = reader.get("name");
  const disguise = hasControls(name) ? undefined : describeDisguise(name);
  if (disguise !== undefined) reader.warn(field ?? { key: "name", value: name, line: 1 }, disguise);
  if (!hasControls(name)) return name;
  if (field !== undefined)
    reader.refuse(field, {
      code: "bad_name",
      message: "The name contains control characters. The agent is not loaded.",
      fix: "Use only visible characters in the name.",
    });
  return undefined;
}

/**
 * Describes how a name imitates another one; undefined if it does not. The catalog finds similar names within the
 * project.
 */
function describeDisguise(name: string): FieldProblem | undefined {
  const meant = isDisguised(name)
    ? builtInAgents().find((each) => shapeOf(each.definition.name) === shapeOf(name))
    : undefined;
  if (meant === undefined && !mixesAlphabets(name)) return undefined;
  const about = `The name "${name.slice(0, 60)}" contains ${namedLetters(name)}`;
  return {
    code: "confusable_name",
    message: meant
      ? `${about} and looks like the name of the built-in agent "${meant.definition.name}".`
      : `${about} among letters of another alphabet, so it can be mistaken for another name.`,
    fix: "Write each word of the name in one alphabet, and choose a name that does not look like another agent's.",
  };
}

function readDescription(reader: AgentFieldReader): string | undefined {
  const field = reader.get("description");
  if (field !== undefined && Array.isArray(field.value) && field.value.every((item) => typeof item === "string")) {
    const text = field.value.join("\n").trim();
    if (text !== "") {
      reader.warn(field, {
        code: "wrong_type",
        message: `"${field.key}" is a list; its items were joined into one string.`,
        fix: `Write it as one string.${reader.syntax.form === "yaml" ? ' If it is long, put "|" after the key and the text on the lines below.' : ""}`,
      });
      return text;
    }
  }
  const text = readText(reader, "description")?.trim();
  return text === "" ? undefined : text;
}

function refuseWithoutDescription(reader: AgentFieldReader, first: Field | undefined): void {
  const { syntax } = reader;
  const misspelled = reader.unknownFields.find(({ key }) => misspelledName(key, ["description"]));
  const only = misspelled === undefined ? "" : `, only a field "${misspelled.key}"`;
  const entry = syntax.entry("description", "what it does; use it when ...");
  reader.refuse(misspelled ?? reader.get("description") ?? first ?? { key: "description", value: null, line: 1 }, {
    code: "no_description",
    message: `The agent has no description${only}, so nothing would ever be delegated to it. It is not loaded.`,
    fix: misspelled ? 'Did you mean "description"?' : `Add ${syntax.form === "yaml" ? "a line " : ""}${entry}.`,
  });
}

/** Also returns true for an invalid value, because a typo must not re-enable a disabled agent. */
function readDisable(reader: AgentFieldReader): boolean {
  const field = reader.get("disable");
  if (field === undefined || isEmpty(field)) return false;
  const value = booleanOf(field);
  if (value === true)
    reader.notice(field, {
      code: "disabled",
      message: `The agent is not loaded, because "${field.key}" is set.`,
      fix: `Delete the ${reader.syntax.unit}.`,
    });
  if (value === undefined)
    reader.refuse(field, {
      code: "wrong_type",
      message: `"${field.key}" must be true or false; it is ${describe(field.value)}. The agent is not loaded.`,
      fix: `Write ${reader.syntax.entry(field.key, true)}, or delete the ${reader.syntax.unit}.`,
    });
  return value !== false;
}

const none: readonly string[] = [];

/** Reads the fields that decide what the agent may do. An invalid value prevents the file from loading. */
function readRights(
  reader: AgentFieldReader,
  { definition, source }: { definition: Draft; source: DefinitionSource },
): AsWritten {
  const tools = readRightsList(reader, "tools");
  const disallowed = readRightsList(reader, "disallowedTools");
  const inheritsAll = tools === undefined || tools.inheritsRest === true || tools.listed.includes("*");
  if (!inheritsAll) definition.tools = tools.listed;
  // In a `tools` map, false removes a tool; in a `disallowedTools` map, true does.
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

function readRightsList(reader: AgentFieldReader, name: "tools" | "disallowedTools"): ToolList | undefined {
  const field = reader.get(name);
  if (field === undefined) return undefined;
  const { syntax } = reader;
  const list = readToolList(field);
  if (list === undefined)
    reader.refuse(field, {
      code: "unreadable_tools",
      message: `"${field.key}" can't be read. The agent is not loaded, so that it can't run with more tools than intended.`,
      fix: `Write names${syntax.form === "yaml" ? " separated by commas" : ""}: ${syntax.entry(field.key, exampleTools)}.`,
    });
  else if (name === "tools" && isEmpty(field))
    reader.warn(field, {
      code: "empty_tools",
      message: `"${field.key}" is empty, so the agent has no tools.`,
      fix: `Delete the ${syntax.unit} to inherit all tools, or write ${syntax.entry(field.key, [])} if it should have none.`,
    });
  if (list === undefined) return undefined;
  const { listed, excluded } = list;
  const [granted, withheld] = name === "tools" ? [listed, excluded] : [excluded, listed];
  checkToolNames(reader, name, { granted, withheld });
  return list;
}
