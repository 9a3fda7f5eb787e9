import path from "node:path";
import type { Diagnostic, JsonObject, SkillDefinition, SkillFork } from "../../protocol/index.ts";
import { type SkillField, skillFieldNames } from "./field-names.ts";
import { type Field, FieldReader } from "./field-reader.ts";
import { booleanOf, describe, readBoolean, readText } from "./field-values.ts";
import type { DefinitionFile } from "./read-agent.ts";
import { readFrontmatter } from "./read-frontmatter.ts";
import { hasControls, readToolList } from "./tool-list.ts";

export interface ReadSkill {
  /** The skill; undefined if it was not loaded, in which case a diagnostic says why. */
  readonly definition?: SkillDefinition;
  readonly body: () => string;
  readonly diagnostics: readonly Diagnostic[];
}

interface SkillFile extends DefinitionFile {
  /** Name of the command if the file is a command file, which needs no frontmatter; undefined for a SKILL.md. */
  readonly command?: string | undefined;
}

/** Reads one SKILL.md, or a command file. The promise never rejects. */
export async function readSkillFile(request: SkillFile): Promise<ReadSkill> {
  const { bytes, file, source, plugin, command } = request;
  const isCommand = command !== undefined;
  const { fields, diagnostics, body } = await readFrontmatter({ bytes, file, isKnown, optional: isCommand });
  if (fields === undefined) return { body, diagnostics };
  const reader = new FieldReader({
    file,
    fields,
    diagnostics,
    names: skillFieldNames,
    strict: strictFields,
    kind: "skill",
  });
  const name = command ?? readText(reader, "name")?.trim() ?? path.basename(path.dirname(file));
  const description = readText(reader, "description")?.trim() ?? (isCommand ? firstLine(body()) : undefined);
  const allowedTools = readAllowedTools(reader);
  const modelInvocable = !readDisableInvocation(reader);
  const nameIsBad = hasControls(name);
  if (nameIsBad || description === undefined)
    diagnostics.push({ severity: "error", file, line: fields[0]?.line ?? 1, ...(nameIsBad ? badName : noDescription) });
  if (nameIsBad || description === undefined || reader.refused) return { body, diagnostics };
  const fork = readFork(reader);
  reportUnused(reader, fork);
  const extra = collectExtra(reader);
  const definition: SkillDefinition = {
    name,
    description,
    source,
    file,
    plugin,
    allowedTools,
    modelInvocable,
    fork,
    extra,
  };
  return { definition, body, diagnostics };
}

/** Returns the first line with text, without heading marks. */
function firstLine(text: string): string | undefined {
  return /[^\s#].*/.exec(text)?.[0].trim();
}

function isKnown(key: string): boolean {
  return skillFieldNames.resolve(key) !== undefined;
}

const strictFields = new Set<SkillField>(["allowedTools", "disableModelInvocation"]);
const badName = {
  code: "bad_name",
  message: "The name contains control characters. The skill is not loaded.",
  fix: "Use only visible characters in the name.",
} as const;
const noDescription = {
  code: "no_description",
  message: "The skill has no description, so models would not know when to use it. It is not loaded.",
  fix: 'Add a line "description: what it does; use it when ...".',
} as const;

/** Reads the allowed tools, which may also be separated by spaces, as in the open skill format. */
function readAllowedTools(reader: FieldReader<SkillField>): readonly string[] | undefined {
  const field = reader.get("allowedTools");
  if (field === undefined) return undefined;
  const list = readToolList(spacesToCommas(field));
  if (list === undefined)
    reader.refuse(field, {
      code: "unreadable_tools",
      message: `"${field.key}" can't be read. The skill is not loaded.`,
      fix: `Write names separated by commas: "${field.key}: Read, Bash(git diff *)".`,
    });
  return list?.listed;
}

function spacesToCommas(field: Field): Field {
  const { value } = field;
  // Skip a list with an unclosed parenthesis: it is rejected later, and the patterns below would take quadratic time on
  // it.
  if (typeof value !== "string" || value.lastIndexOf("(") > value.lastIndexOf(")")) return field;
  if (/[,[\n]/.test(value.replace(/\([^)]*\)/g, ""))) return field;
  const names = value.match(/[^\s(]+(?:\([^)]*\))?|\(/g);
  return names === null ? field : { ...field, value: names.join(",") };
}

function readDisableInvocation(reader: FieldReader<SkillField>): boolean {
  const field = reader.get("disableModelInvocation");
  if (field === undefined || field.value === null) return false;
  const value = booleanOf(field);
  if (value === undefined)
    reader.warn(field, {
      code: "wrong_type",
      message: `"${field.key}" must be true or false; it is ${describe(field.value)}. It is read as true.`,
      fix: `Write "${field.key}: true" or delete the line.`,
    });
  return value ?? true;
}

/** Determines which agent the skill runs as. Only skills with `context: fork` run as an agent. */
function readFork(reader: FieldReader<SkillField>): SkillFork | undefined {
  const context = reader.get("context")?.value;
  if (typeof context !== "string" || context.trim().toLowerCase() !== "fork") return undefined;
  const agent = readText(reader, "agent")?.trim() || "general-purpose";
  const model = readText(reader, "model")?.trim() || undefined;
  return { agent, model, background: readBoolean(reader, "background") };
}

const unused = [
  "disallowedTools",
  "context",
  "agent",
  "model",
  "effort",
  "background",
  "hooks",
  "paths",
  "shell",
] as const satisfies readonly SkillField[];

const usedByForks: ReadonlySet<SkillField> = new Set(["context", "agent", "model", "background"]);

/** Reports fields that have no effect, because a skill is only text for the agent that loads or runs it. */
function reportUnused(reader: FieldReader<SkillField>, fork: SkillFork | undefined): void {
  const why =
    fork === undefined
      ? "the agent that loads the skill keeps its own tools, model and context. To run the skill as a subagent, write `context: fork`"
      : `the skill runs as the agent ${fork.agent}, with that agent's tools`;
  for (const name of unused) {
    const field = reader.get(name);
    if (field === undefined || field.value === null || (fork && usedByForks.has(name))) continue;
    reader.notice(field, { code: "unused_field", message: `"${field.key}" has no effect in a skill: ${why}.` });
  }
}

const keptByName = [
  "license",
  "compatibility",
  "metadata",
  "whenToUse",
  "argumentHint",
  "arguments",
  "userInvocable",
  "disallowedTools",
  "model",
  "effort",
  "context",
  "agent",
  "background",
  "hooks",
  "paths",
  "shell",
] as const satisfies readonly SkillField[];

/** Returns the fields of the skill format that `SkillDefinition` has no property for. */
function collectExtra(reader: FieldReader<SkillField>): JsonObject | undefined {
  const kept = keptByName.flatMap((name) => {
    const field = reader.get(name);
    return field === undefined ? [] : [[name, field.value] as const];
  });
  const extra = { ...Object.fromEntries(kept), ...reader.unknown } as JsonObject;
  return Object.keys(extra).length === 0 ? undefined : extra;
}
