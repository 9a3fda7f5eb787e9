import type { OnAsk } from "../../app/index.ts";
import { describeError, nearest } from "../../lib/index.ts";
import {
  type CacheLifetime,
  type Effort,
  type ForkChoice,
  forkChoices,
  type JsonObject,
  type PermissionMode,
  permissionModes,
} from "../../protocol/index.ts";
import { type Command, type HelpTopic, helpTopics, type OutputFormat, type PrintOptions } from "../command.ts";
import { parseAgents } from "../commands/agents/agents-arguments.ts";
import { parseApprovals } from "../commands/approvals-arguments.ts";
import { parseCache } from "../commands/cache-arguments.ts";
import { parsePermissions } from "../commands/permissions-arguments.ts";
import { parsePlugins } from "../commands/plugins-arguments.ts";
import { needsSession, parseSessions } from "../commands/sessions/sessions-arguments.ts";
import { parseConfig, parseTrust } from "../commands/trust-arguments.ts";
import { parseWorktrees } from "../commands/worktrees-arguments.ts";
import { type OptionKind, type ReadOptions, readOptions, usageError } from "../read-options.ts";
import { splitRules } from "../split-rules.ts";

/** Throws a `UserError` with exit code 2 for what it can't read. */
export function parseArguments(argv: readonly string[]): Command {
  const [first, ...rest] = argv;
  if (first === "sessions") return rest[0] === "resume" ? parseResume(rest.slice(1)) : parseSessions(rest);
  if (first === "agents") return parseAgents(rest);
  if (first === "plugins") return parsePlugins(rest);
  if (first === "trust") return parseTrust(rest);
  if (first === "config") return parseConfig(rest);
  if (first === "cache") return parseCache(rest);
  if (first === "worktrees") return parseWorktrees(rest);
  if (first === "approvals") return parseApprovals(rest);
  if (first === "permissions") return parsePermissions(rest);
  if (first === "doctor") return parseDoctor(rest);
  if (first === "help") return { kind: "help", topic: topicOf(rest[0]) };
  if (first === "version" && rest.length === 0) return { kind: "version" };
  return parseRoot(argv);
}

const efforts: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];
const lifetimes: readonly CacheLifetime[] = ["5m", "1h"];
const onAskChoices: readonly OnAsk[] = ["deny", "wait", "hook"];
const formats: readonly OutputFormat[] = ["text", "json", "stream-json"];

const help: OptionKind = { short: "h" };
const provider: OptionKind = { value: "NAME" };
const model: OptionKind = { value: "NAME", short: "m" };
const settings: OptionKind = { value: "FILE" };
const directory: OptionKind = { value: "DIRECTORY", short: "C" };
const root: Readonly<Record<string, OptionKind>> = {
  print: { short: "p" },
  "output-format": { value: "FORMAT", choices: formats },
  "include-partial-messages": {},
  "forward-subagent-text": {},
  agent: { value: "NAME" },
  agents: { value: "JSON" },
  coordinator: {},
  fork: { value: "WHEN", choices: forkChoices },
  model,
  provider,
  effort: { value: "LEVEL", choices: efforts },
  "cache-lifetime": { value: "TIME", choices: lifetimes },
  "max-turns": { value: "N" },
  "max-cost": { value: "USD" },
  "max-tokens": { value: "N" },
  "max-spawns": { value: "N" },
  acceptance: { value: "COMMAND" },
  cwd: directory,
  resume: { value: "ID", short: "r" },
  continue: { short: "c" },
  "permission-mode": { value: "MODE", choices: permissionModes },
  "on-ask": { value: "WHAT", choices: onAskChoices },
  "allowed-tools": { value: "RULES" },
  "disallowed-tools": { value: "RULES" },
  settings,
  trust: {},
  verbose: {},
  quiet: { short: "q" },
  version: { short: "V" },
  help,
};

function parseRoot(argv: readonly string[]): Command {
  const options = readOptions(argv, { kinds: root, help: "retinue --help" });
  if (options.has("help")) return { kind: "help", topic: "retinue" };
  if (options.has("version")) return { kind: "version" };
  return options.has("print") ? parsePrint(options) : withoutPrint(options.words);
}

/** `sessions resume ID` is `-p --resume ID` in other words. */
function parseResume(argv: readonly string[]): Command {
  const { print: _print, resume: _resume, continue: _continue, version: _version, ...kinds } = root;
  const options = readOptions(argv, { kinds, help: "retinue --help" });
  if (options.has("help")) return { kind: "help", topic: "sessions" };
  const [id, ...words] = options.words;
  if (id === undefined) throw needsSession("resume");
  const value = (name: string): string | undefined => (name === "resume" ? id : options.value(name));
  return parsePrint({ ...options, words, value });
}

function parsePrint(options: ReadOptions): Command {
  const outputFormat = (options.value("output-format") ?? "text") as OutputFormat;
  if (options.has("resume") && options.has("continue")) {
    throw usageError("--resume and --continue both name a session", "Use one of them.");
  }
  if (options.has("include-partial-messages") && outputFormat !== "stream-json") {
    throw usageError("--include-partial-messages needs a stream", "Add --output-format stream-json.");
  }
  if (options.has("forward-subagent-text") && outputFormat !== "stream-json") {
    throw usageError("--forward-subagent-text needs a stream", "Add --output-format stream-json.");
  }
  if (options.has("quiet") && options.has("verbose")) {
    throw usageError("--quiet and --verbose contradict each other", "Use one of them.");
  }
  const permissionMode = options.value("permission-mode") as PermissionMode | undefined;
  const effort = options.value("effort") as Effort | undefined;
  const fork = options.value("fork") as ForkChoice | undefined;
  const cacheLifetime = options.value("cache-lifetime") as CacheLifetime | undefined;
  const onAsk = options.value("on-ask") as OnAsk | undefined;
  return {
    kind: "print",
    options: {
      prompt: options.words.join(" "),
      outputFormat,
      partialMessages: options.has("include-partial-messages"),
      subagentText: options.has("forward-subagent-text"),
      continueLatest: options.has("continue"),
      allowedTools: options.values("allowed-tools").flatMap(splitRules),
      disallowedTools: options.values("disallowed-tools").flatMap(splitRules),
      acceptance: commands(options),
      trust: options.has("trust"),
      verbose: options.has("verbose"),
      quiet: options.has("quiet"),
      ...limits(options),
      ...(permissionMode === undefined ? {} : { permissionMode }),
      ...(onAsk === undefined ? {} : { onAsk }),
      ...(effort === undefined ? {} : { effort }),
      ...given(options, ["agent", "model", "provider", "cwd", "resume", "settings"]),
      ...(options.has("coordinator") ? { coordinator: true } : {}),
      ...(fork === undefined ? {} : { fork }),
      ...(cacheLifetime === undefined ? {} : { cacheLifetime }),
      ...(options.has("agents") ? { agents: jsonObject(options, "agents") } : {}),
    },
  };
}

function limits(options: ReadOptions): Pick<PrintOptions, "maxTurns" | "maxCost" | "maxTokens" | "maxSpawns"> {
  const maxTurns = wholeNumber(options, "max-turns");
  const maxCost = amount(options, "max-cost");
  const maxTokens = wholeNumber(options, "max-tokens");
  const maxSpawns = wholeNumber(options, "max-spawns");
  return {
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxCost === undefined ? {} : { maxCost }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(maxSpawns === undefined ? {} : { maxSpawns }),
  };
}

function commands(options: ReadOptions): readonly string[] {
  const given = options.values("acceptance");
  if (given.every((command) => command.trim() !== "")) return given;
  throw usageError(
    "--acceptance has no command",
    'Write one that ends with 0 when the work is good: --acceptance "npm test".',
  );
}

function withoutPrint(words: readonly string[]): Command {
  const [word] = words;
  const meant = words.length <= 3 && word !== undefined ? nearest(word, [...helpTopics, "help"])[0] : undefined;
  if (meant !== undefined) throw usageError(`There is no command "${word}"`, `Did you mean "retinue ${meant}"?`);
  return { kind: "interactive", prompt: words.join(" ") };
}

function parseDoctor(argv: readonly string[]): Command {
  const kinds = { json: {}, provider, model, settings, help };
  const options = readOptions(argv, { kinds, help: "retinue doctor --help" });
  if (options.has("help")) return { kind: "help", topic: "doctor" };
  const [word] = options.words;
  if (word !== undefined) throw usageError(`"doctor" does not take "${word}"`, 'See "retinue doctor --help".');
  return {
    kind: "doctor",
    options: { json: options.has("json"), ...given(options, ["provider", "model", "settings"]) },
  };
}

/** Those that were given: a property that is absent is not one that is undefined. */
function given<Name extends string>(options: ReadOptions, names: readonly Name[]): { readonly [key in Name]?: string } {
  const found: { [key in Name]?: string } = {};
  for (const name of names) {
    const value = options.value(name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function wholeNumber(options: ReadOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= 1) return value;
  throw usageError(`--${name} can't be "${text}"`, "It must be a whole number from 1 on.");
}

function amount(options: ReadOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const value = Number(text.replace(/^\$/, ""));
  if (/^\$?\d*\.?\d+$/.test(text) && Number.isFinite(value) && value > 0) return value;
  throw usageError(`--${name} can't be "${text}"`, "It must be an amount in US dollars, such as 0.50.");
}

function jsonObject(options: ReadOptions, name: string): JsonObject {
  const text = options.value(name) ?? "";
  const file = /^@?([^{"[]+\.json)$/.exec(text)?.[1];
  const fromFile = file === undefined ? "" : ` To give a file: --${name} "$(cat ${file})".`;
  const cure = `Write --${name} '{"reviewer": {"description": "...", "prompt": "..."}}'.${fromFile}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(`The value of --${name} is not JSON: ${describeError(error)}`, cure);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw usageError(`The value of --${name} is not a JSON object`, cure);
}

function topicOf(word: string | undefined): HelpTopic {
  const topic = word === undefined ? "retinue" : helpTopics.find((each) => each === word);
  if (topic !== undefined) return topic;
  const [meant] = nearest(word ?? "", helpTopics);
  const cure = meant === undefined ? `There are ${helpTopics.join(", ")}.` : `Did you mean "${meant}"?`;
  throw usageError(`There is no command "${word}"`, cure);
}
