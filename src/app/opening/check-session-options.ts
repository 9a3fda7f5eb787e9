import { describeError, isRecord, misspelledName, nearest } from "../../lib/index.ts";
import { checkServerConfig } from "../../mcp/index.ts";
import { checkRules } from "../../permissions/index.ts";
import type { Model } from "../../ports/index.ts";
import {
  canonicalToolName,
  dialects,
  efforts,
  hookEvents,
  permissionModes,
  type Rule,
  readHookEntries,
  toolNames,
} from "../../protocol/index.ts";
import { checkSettings, type UnknownKey } from "../../settings/index.ts";
import {
  aBoolean,
  aCount,
  aFunction,
  anAbortSignal,
  anArray,
  anObject,
  anObjectWith,
  aString,
  checkNames,
  checkOptions,
  either,
  type OptionTypes,
  oneOf,
  optional,
  optionError,
  sentence,
  strings,
} from "../check-options.ts";
import { checkTools } from "../tools/check-tools.ts";
import { sessionOptionHints } from "./session-option-hints.ts";
import type { SessionOptions } from "./session-options.ts";

/** Throws a `UserError` if an option is invalid. */
export function checkSessionOptions(options: SessionOptions): void {
  checkNames("openSession", options, sessionOptionHints);
  checkOptions("openSession", options, sessionOptionTypes);
  const { transcript, resume } = options;
  if (transcript !== undefined && resume !== undefined && resume !== transcript.sessionId) {
    throw optionError(
      `The resume option is ${resume}, but the transcript belongs to session ${transcript.sessionId}`,
      "Set resume to the transcript's sessionId. To start a new session, remove resume and pass a new transcript.",
    );
  }
  if (transcript === undefined && options.home === false && resume !== undefined) {
    throw optionError(
      "A session can't be resumed with home: false, which keeps nothing on disk",
      "Remove resume to start a new session, or set home to the session's state directory.",
    );
  }
  checkTools(options.tools ?? []);
  if (typeof options.model === "object") checkModel(options.model);
  checkMcpServers(options.mcpServers ?? {});
  if (options.entryPoint !== "cli") checkToolNames(options);
  checkHooks(options.hooks ?? {});
  const { approvals, onAsk } = options;
  if (approvals !== undefined && (onAsk === "deny" || onAsk === "hook"))
    throw optionError(
      `openSession has both the approvals option and onAsk: "${onAsk}", which has an effect only without approvals`,
      "Leave out one of them.",
    );
  // If there are origins, the settings come from `loadProjectSettings`, which has already checked them.
  const { problems, unknown } = checkSettings(options.settingsOrigins ? {} : (options.settings ?? {}));
  const all = [...problems, ...unknown.map(unknownKeyProblem)];
  const [first, ...more] = all;
  const fix = more.length === 0 ? "docs/settings.md describes all settings." : `Also: ${more.join("; ")}.`;
  if (first !== undefined) throw optionError(`The settings option of openSession is invalid: ${first}`, fix);
  checkOwnSettings(options);
}

/**
 * Throws a `UserError` for hooks and restricting rules that would have no effect. In settings files, these are only
 * reported, because one broken line must not stop every program that reads the file.
 */
function checkOwnSettings({
  settings = {},
  settingsOrigins,
  rules,
  entryPoint,
  disallowedTools = [],
  tools = [],
}: SessionOptions): void {
  if (settingsOrigins !== undefined || rules !== undefined || entryPoint === "cli") return;
  const { deny = [], ask = [] } = settings.permissions ?? {};
  const own = [
    ...deny.map((text): Rule => ({ text, effect: "deny", scope: "user" })),
    ...ask.map((text): Rule => ({ text, effect: "ask", scope: "user" })),
    ...disallowedTools.map((text): Rule => ({ text, effect: "deny", scope: "flag" })),
  ];
  const [rule] = checkRules(
    own,
    tools.map(({ name }) => name),
  );
  if (rule !== undefined) throw optionError(withoutStop(sentence(rule.message)), "Correct the rule, or remove it.");
  const [hook] = readHookEntries(settings.hooks ?? {}).problems;
  if (hook !== undefined)
    throw optionError(
      `The settings option of openSession is invalid: ${withoutStop(hook.message)}`,
      "docs/hooks.md describes hooks.",
    );
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, "");
}

function unknownKeyProblem({ path, meant }: UnknownKey): string {
  return `the key ${path.join(".")} is unknown${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
}

/** A model's name, or a model object. */
export const modelOption = either(aString, anObjectWith("describe", "call"));

export const sessionOptionTypes: OptionTypes<SessionOptions> = {
  cwd: optional(aString),
  worker: optional(anObjectWith("describe", "open")),
  home: optional({
    accepts: (value) => value === false || aString.accepts(value),
    description: "a string or false",
  }),
  environment: optional({
    accepts: (value) =>
      isRecord(value) && Object.values(value).every((each) => each === undefined || typeof each === "string"),
    description: "an object whose values are strings",
  }),
  settings: optional(anObject),
  settingsFile: optional(aString),
  settingsOrigins: optional(anArray),
  rules: optional({
    accepts: (value) => Array.isArray(value) && value.every(isRule),
    description: "the rules from loadProjectSettings, each with text, effect and scope",
  }),
  catalogSettings: optional(anObject),
  agent: optional(aString),
  coordinator: optional(aBoolean),
  systemPrompt: optional({
    accepts: (value) => aString.accepts(value) || isAppended(value),
    description: "a non-empty string, or an object with append and nothing else",
  }),
  agents: optional({
    accepts: (value) => isRecord(value) && Object.keys(value).every((name) => name.trim() !== ""),
    description: "an object with agents by name",
  }),
  trusted: optional(aBoolean),
  entryPoint: optional({
    accepts: (value) => typeof value === "string" && /^(cli|server|sdk(-\w+)?)$/.test(value),
    description: `"cli", "server", "sdk" or a name such as "sdk-ts"`,
  }),
  provider: optional(aString),
  model: optional(modelOption),
  effort: optional(oneOf(efforts)),
  permissionMode: optional(oneOf(permissionModes)),
  keepsMode: optional(aBoolean),
  tools: optional(anArray),
  mcpServers: optional({
    accepts: (value) => isRecord(value) && Object.values(value).every(isRecord),
    description: "an object with MCP servers by name, each with command, url or server",
  }),
  allowedTools: optional(strings),
  disallowedTools: optional(strings),
  maxTurns: optional(aCount),
  acceptance: optional({
    accepts: (value) => Array.isArray(value) && value.every(aString.accepts),
    description: "an array of commands",
  }),
  interactive: optional(aBoolean),
  resume: optional(aString),
  transcript: optional(anObjectWith("append", "read", "close")),
  hooks: optional(anObject),
  approvals: optional(anObjectWith("ask")),
  onAsk: optional(oneOf(["deny", "wait", "hook"])),
  agentUpdates: optional(oneOf(["all", "recorded", "milestones"])),
  clock: optional(anObjectWith("now")),
  signal: optional(anAbortSignal),
  onTrouble: optional(aFunction),
};

function isRule(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value["text"] === "string" &&
    isEffect(value["effect"]) &&
    typeof value["scope"] === "string"
  );
}

function isEffect(value: unknown): boolean {
  return value === "allow" || value === "ask" || value === "deny";
}

function isAppended(value: unknown): boolean {
  return isRecord(value) && typeof value["append"] === "string" && Object.keys(value).length === 1;
}

/** Throws a `UserError` if the `describe` method of the program's model fails or returns an invalid description. */
export function checkModel(model: Model): void {
  const fix =
    'Return { provider, model, dialect: "anthropic", "openai", "responses" or "gemini", window, maxOutputTokens } from describe, with window and maxOutputTokens in tokens.';
  let described: unknown;
  try {
    described = model.describe();
  } catch (error) {
    throw optionError(`The model's describe method failed: ${describeError(error)}`, fix);
  }
  const { provider, model: name, dialect, window, maxOutputTokens } = isRecord(described) ? described : {};
  const isValid =
    [provider, name].every(aString.accepts) &&
    oneOf(dialects).accepts(dialect) &&
    [window, maxOutputTokens].every(aCount.accepts);
  if (!isValid) throw optionError("The model's describe method returned an invalid description", fix);
}

const serverFields = ["command", "args", "env", "cwd", "url", "type", "headers", "server", "timeout"];

function checkMcpServers(servers: Readonly<Record<string, unknown>>): void {
  const fix = "Use { command, args }, { url } or { server: new McpServer(…) }.";
  for (const [name, server] of Object.entries(servers)) {
    const what = `The MCP server "${name}" in the mcpServers option of openSession`;
    const unknown = Object.keys(server as object).find((field) => !serverFields.includes(field));
    if (unknown !== undefined) {
      const [meant] = unknown === "cmd" ? ["command"] : nearest(unknown, serverFields);
      throw optionError(
        `${what} has an unknown field "${unknown}"`,
        meant === undefined ? fix : `Did you mean ${meant}?`,
      );
    }
    const checked = checkServerConfig(server);
    if (!checked.ok) throw optionError(`${what} ${checked.message}`, fix);
  }
}

/** Throws a `UserError` for a rule that misspells a tool's name. */
function checkToolNames({ allowedTools = [], disallowedTools = [], tools = [] }: SessionOptions): void {
  const known = [...toolNames, ...tools.map(({ name }) => name)];
  for (const [option, rules] of Object.entries({ allowedTools, disallowedTools })) {
    for (const rule of rules) {
      const name = canonicalToolName(rule.split("(", 1)[0]?.trim() ?? "");
      const meant = known.includes(name) || !/^[A-Za-z]+$/.test(name) ? undefined : misspelledName(name, known);
      if (meant === undefined) continue;
      throw optionError(
        `The ${option} option of openSession names the unknown tool "${name}"`,
        `Did you mean ${meant}?`,
      );
    }
  }
}

function checkHooks(hooks: Readonly<Record<string, unknown>>): void {
  for (const [event, list] of Object.entries(hooks)) {
    if (!hookEvents.some((known) => known === event)) {
      const [meant] = nearest(event, hookEvents);
      const fix = meant === undefined ? `Use ${hookEvents.join(", ")}.` : `Did you mean ${meant}?`;
      throw optionError(`The hooks option of openSession has an unknown event "${event}"`, fix);
    }
    if (list === undefined || (Array.isArray(list) && list.every(isHook))) continue;
    const fields = Array.isArray(list) ? list.filter(isRecord).flatMap((hook) => Object.keys(hook)) : [];
    const unknown = fields.find(
      (field) => misspelledName(field, hookFields) !== undefined && !hookFields.includes(field),
    );
    if (unknown !== undefined)
      throw optionError(
        `The hooks option of openSession has the unknown field "${unknown}" for ${event}`,
        `Did you mean ${misspelledName(unknown, hookFields)}?`,
      );
    throw optionError(
      `The hooks option of openSession has an invalid value for ${event}`,
      "Use an array of objects with a run function and, optionally, matcher (a string) and timeoutSeconds (a number above 0).",
    );
  }
}

const hookFields: readonly string[] = ["run", "matcher", "timeoutSeconds"];

/** Rejects unknown fields too, because a hook with a misspelled matcher would apply to every tool. */
function isHook(hook: unknown): boolean {
  if (!isRecord(hook)) return false;
  const { run, matcher, timeoutSeconds, ...rest } = hook;
  return (
    typeof run === "function" &&
    (matcher === undefined || typeof matcher === "string") &&
    (timeoutSeconds === undefined || (typeof timeoutSeconds === "number" && timeoutSeconds > 0)) &&
    Object.keys(rest).length === 0
  );
}
