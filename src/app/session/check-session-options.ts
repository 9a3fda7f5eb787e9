import { isRecord, nearest } from "../../lib/index.ts";
import { efforts, hookEvents, permissionModes } from "../../protocol/index.ts";
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
  checkOptions,
  either,
  type OptionTypes,
  oneOf,
  optional,
  optionError,
  strings,
} from "../check-options.ts";
import { checkTools } from "../tools/check-tools.ts";
import type { SessionOptions } from "./session-options.ts";

/** Throws a `UserError` if an option is invalid. */
export function checkSessionOptions(options: SessionOptions): void {
  checkNames("openSession", options);
  checkOptions("openSession", options, sessionOptionTypes);
  const { transcript, resume } = options;
  if (transcript !== undefined && resume !== undefined && resume !== transcript.sessionId) {
    throw optionError(
      `The option resume is ${resume}, but the transcript is that of the session ${transcript.sessionId}`,
      "Set resume to the sessionId of the transcript, or remove it to start a new session.",
    );
  }
  if (transcript === undefined && options.home === false && resume !== undefined) {
    throw optionError(
      "A session can't be resumed with home: false, which keeps nothing on disk",
      "Remove resume to start a new session, or set home to the session's state directory.",
    );
  }
  checkTools(options.tools ?? []);
  checkHooks(options.hooks ?? {});
  // If there are origins, the settings come from `loadProjectSettings`, which has already checked them.
  const { problems, unknown } = checkSettings(options.settingsOrigins ? {} : (options.settings ?? {}));
  const all = [...problems, ...unknown.map(unknownKeyProblem)];
  const [first, ...more] = all;
  if (first === undefined) return;
  const cure = more.length === 0 ? "docs/settings.md describes all settings." : `Also: ${more.join("; ")}.`;
  throw optionError(`The settings option of openSession is invalid: ${first}`, cure);
}

/** Throws a `UserError` for names that other programs use for something that is a setting here. */
export function checkNames(name: string, options: unknown): void {
  const limit = isRecord(options) ? spendingLimits.find((option) => option in options) : undefined;
  if (limit === undefined) return;
  throw optionError(`${name} has no option ${limit}`, "To limit the cost, use `settings: { budget: { usd: 1 } }`.");
}

const spendingLimits = ["budget", "maxCost", "maxCostUsd", "maxBudgetUsd"];

function unknownKeyProblem({ path, meant }: UnknownKey): string {
  return `the key ${path.join(".")} is unknown${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
}

/** A model by its name, or an object that is one. */
export const modelOption = either(aString, anObjectWith("describe", "call"));

export const sessionOptionTypes: OptionTypes<SessionOptions> = {
  cwd: optional(aString),
  worker: optional(anObjectWith("describe", "open")),
  home: optional({
    accepts: (value) => value === false || aString.accepts(value),
    description: "a string or false",
  }),
  environment: optional(anObject),
  settings: optional(anObject),
  settingsFile: optional(aString),
  settingsOrigins: optional(anArray),
  rules: optional(anArray),
  catalogSettings: optional(anObject),
  agent: optional(aString),
  coordinator: optional(aBoolean),
  systemPrompt: optional({
    accepts: (value) => aString.accepts(value) || (isRecord(value) && typeof value["append"] === "string"),
    description: "a non-empty string, or an object with append",
  }),
  agents: optional(anObject),
  trusted: optional(aBoolean),
  entryPoint: optional(aString),
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
  acceptance: optional(strings),
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

function checkHooks(hooks: Readonly<Record<string, unknown>>): void {
  for (const [event, list] of Object.entries(hooks)) {
    if (!hookEvents.some((known) => known === event)) {
      const [meant] = nearest(event, hookEvents);
      const cure = meant === undefined ? `Use ${hookEvents.join(", ")}.` : `Did you mean ${meant}?`;
      throw optionError(`The hooks option of openSession has an unknown event ${event}`, cure);
    }
    if (list === undefined || (Array.isArray(list) && list.every(isHook))) continue;
    throw optionError(
      `The hooks option of openSession has an invalid value for ${event}`,
      "Use an array of objects with a run function and, optionally, matcher (a string) and timeoutSeconds (a number).",
    );
  }
}

/** Also returns false for unknown fields, because a hook with a misspelled matcher would apply to every tool. */
function isHook(hook: unknown): boolean {
  if (!isRecord(hook)) return false;
  const { run, matcher, timeoutSeconds, ...rest } = hook;
  return (
    typeof run === "function" &&
    (matcher === undefined || typeof matcher === "string") &&
    (timeoutSeconds === undefined || typeof timeoutSeconds === "number") &&
    Object.keys(rest).length === 0
  );
}
