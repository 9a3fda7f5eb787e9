import { misspelledName } from "../../lib/index.ts";
import {
  type CompactRule,
  type DefinitionSource,
  type Effect,
  isFilePattern,
  type PermissionMode,
  permissionModes,
} from "../../protocol/index.ts";
import type { AgentField } from "./field-names.ts";
import type { AgentFieldReader, Field } from "./field-reader.ts";
import { booleanOf, describe, isEmpty, textOf } from "./field-values.ts";
import { checkToolNames } from "./unknown-tools.ts";

const ownModes = Object.fromEntries(permissionModes.map((mode) => [fold(mode), mode]));

interface ModeField {
  /**
   * Spellings that the field accepts, including those of other programs. No spelling maps to a looser mode than it has
   * in its original program.
   */
  readonly modes: Readonly<Record<string, PermissionMode>>;
  /** Values that messages suggest. */
  readonly suggested: readonly string[];
}

const modeSpellings: Readonly<Record<"permissionMode" | "approvalMode", ModeField>> = {
  permissionMode: {
    suggested: permissionModes,
    modes: {
      ...ownModes,
      manual: "default",
      ask: "default",
      auto: "default",
      alwaysconfirm: "default",
      confirmrisky: "default",
      neverconfirm: "bypassPermissions",
      autoedit: "acceptEdits",
    },
  },
  approvalMode: {
    suggested: ["plan", "default", "auto-edit", "yolo"],
    modes: { ...ownModes, auto: "default", autoedit: "acceptEdits", yolo: "bypassPermissions", bubble: "default" },
  },
};

/** Permission modes, sorted from strictest to loosest. */
const strictness: readonly PermissionMode[] = ["plan", "dontAsk", "default", "acceptEdits", "bypassPermissions"];

const modeFields = ["permissionMode", "approvalMode", "readonly"] as const;

/** Returns the strictest of `permissionMode`, Qwen's `approvalMode` and Cursor's `readonly`. */
export function readPermissionMode(reader: AgentFieldReader, source: DefinitionSource): PermissionMode | undefined {
  if (modeFields.every((name) => reader.get(name) === undefined)) return undefined;
  const modes = [
    source === "plugin" ? ignoreInPlugin(reader, "permissionMode") : readMode(reader, "permissionMode"),
    source === "plugin" ? ignoreInPlugin(reader, "approvalMode") : readMode(reader, "approvalMode"),
    readReadonly(reader),
  ];
  const mode = strictness.find((candidate) => modes.includes(candidate));
  if (
    mode !== "bypassPermissions" ||
    source === "user" ||
    source === "flag" ||
    source === "policy" ||
    source === "built-in"
  )
    return mode;
  const field = reader.get("permissionMode") ?? reader.get("approvalMode");
  if (field !== undefined)
    reader.warn(field, {
      code: "mode_not_allowed",
      message: `"${describeMode(field)}" from a ${source} file is ignored, because a repository can't turn off approvals.`,
      fix: `Delete the ${reader.syntax.unit}, or define the agent in your user scope.`,
    });
  return undefined;
}

/** Ignores a field that plugin agents can't set, because they follow the rules of the user who installed the plugin. */
export function ignoreInPlugin(reader: AgentFieldReader, name: AgentField): undefined {
  const field = reader.get(name);
  if (field === undefined) return undefined;
  reader.warn(field, {
    code: "ignored_in_plugin",
    message: `"${field.key}" is ignored, because the agent comes from a plugin.`,
    fix: "Configure it in your own settings, or copy the agent into your user scope.",
  });
  return undefined;
}

function describeMode(field: Field): string {
  return `${field.key}: ${textOf(field) ?? ""}`;
}

function readMode(reader: AgentFieldReader, name: "permissionMode" | "approvalMode"): PermissionMode | undefined {
  const field = reader.get(name);
  if (field === undefined) return undefined;
  const text = typeof field.value === "string" ? field.value.trim() : "";
  const { modes, suggested } = modeSpellings[name];
  const mode = Object.hasOwn(modes, fold(text)) ? modes[fold(text)] : undefined;
  if (mode === undefined) {
    const guess = misspelledName(text, suggested);
    reader.refuse(field, {
      code: "unreadable_mode",
      message: `"${field.key}" is ${describe(field.value)}, which is not a permission mode. The agent is not loaded, so that it can't run with more rights than intended.`,
      fix: `${guess === undefined ? "" : `Did you mean "${guess}"? `}Allowed: ${suggested.join(", ")}.`,
    });
  }
  if (fold(text) === "auto")
    reader.warn(field, {
      code: "mode_mapped",
      message: `"${field.key}: auto" is read as "default", because Retinue has no automatic approval.`,
      fix: `Use one of ${suggested.join(", ")}.`,
    });
  return mode;
}

function readReadonly(reader: AgentFieldReader): PermissionMode | undefined {
  const field = reader.get("readonly");
  if (field === undefined) return undefined;
  const value = booleanOf(field);
  if (value === undefined)
    reader.refuse(field, {
      code: "unreadable_mode",
      message: `"${field.key}" must be true or false; it is ${describe(field.value)}. The agent is not loaded.`,
      fix: `Write ${reader.syntax.entry(field.key, true)}, or delete the ${reader.syntax.unit}.`,
    });
  return value === true ? "plan" : undefined;
}

const permissionFixes = {
  yaml: 'Write lines such as "bash: ask" or "edit: {"*.env": deny}" with allow, ask or deny.',
  json: 'Write {"bash": "ask", "edit": {"*.env": "deny"}} with allow, ask or deny.',
};

/**
 * Reads the short form of rules: one action for every tool, or a map from each tool to an action or to a map from
 * patterns to actions.
 */
export function readPermission(reader: AgentFieldReader): readonly CompactRule[] | undefined {
  const field = reader.get("permission");
  if (field === undefined) return undefined;
  const rules = toRules(field.value);
  if (rules === undefined || isEmpty(field))
    reader.refuse(field, {
      code: "unreadable_permission",
      message: `"${field.key}" can't be read. The agent is not loaded, so that it can't run with more rights than intended.`,
      fix: permissionFixes[reader.syntax.form],
    });
  const pattern = rules?.find(({ tool }) => isFilePattern(tool))?.tool;
  if (pattern !== undefined)
    reader.refuse(field, {
      code: "unreadable_permission",
      message: `"${field.key}" names "${pattern.slice(0, 60)}", which is a pattern for files, not a tool. The agent is not loaded, so that it can't run with more rights than intended.`,
      fix: `Write the pattern below each tool that it is meant for: "read" and "edit".`,
    });
  const toolsWith = (isMeant: (effect: Effect) => boolean): readonly string[] =>
    (rules ?? []).filter(({ effect }) => isMeant(effect)).map(({ tool }) => tool);
  checkToolNames(reader, "permission", {
    granted: toolsWith((effect) => effect === "allow"),
    withheld: toolsWith((effect) => effect !== "allow"),
  });
  return rules;
}

function toRules(value: unknown): CompactRule[] | undefined {
  const all = toEffect(value);
  if (all !== undefined) return [{ tool: "*", effect: all }];
  if (!isMapping(value)) return undefined;
  const rules: CompactRule[] = [];
  for (const [tool, action] of Object.entries(value)) {
    const effect = toEffect(action);
    if (effect !== undefined) {
      rules.push({ tool, effect });
      continue;
    }
    if (!isMapping(action)) return undefined;
    for (const [pattern, patternAction] of Object.entries(action)) {
      const patternEffect = toEffect(patternAction);
      if (patternEffect === undefined) return undefined;
      rules.push({ tool, pattern, effect: patternEffect });
    }
  }
  return rules;
}

function toEffect(value: unknown): Effect | undefined {
  const text = typeof value === "string" ? value.trim().toLowerCase() : undefined;
  return text === "allow" || text === "ask" || text === "deny" ? text : undefined;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fold(name: string): string {
  return name.replace(/[-_ ]/g, "").toLowerCase();
}
