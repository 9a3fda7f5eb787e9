import { invalidRule, type OnAsk } from "../../app/index.ts";
import { parseJsonc } from "../../lib/index.ts";
import {
  type CacheLifetime,
  type Effort,
  efforts,
  type ForkChoice,
  forkChoices,
  type JsonObject,
  type PermissionMode,
  permissionModes,
} from "../../protocol/index.ts";
import type { OutputFormat } from "../formats/format.ts";
import { directoryOption, type OptionKinds, type ReadOptions, splitRules, usageError } from "../read-options.ts";

/** How calls that need approval are handled. `ask`: the user is asked on this process's terminal. */
export type AskingWay = OnAsk | "ask";

export interface PrintOptions {
  readonly prompt: string;
  readonly outputFormat: OutputFormat;
  readonly partialMessages: boolean;
  /** Includes subagents' text in a stream, not only their tool calls. */
  readonly subagentText: boolean;
  /** Name of the agent to run. */
  readonly agent?: string | undefined;
  /** Definitions of agents for this run, by name. */
  readonly agents?: JsonObject | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly maxTurns?: number | undefined;
  /** Maximum cost in US dollars, for the run and all its agents. */
  readonly maxCost?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxSpawns?: number | undefined;
  /** Commands that check the work. */
  readonly acceptance: readonly string[];
  readonly cwd?: string | undefined;
  /** Id of a session, or the start or end of the id. */
  readonly resume?: string | undefined;
  readonly continueLatest: boolean;
  readonly permissionMode?: PermissionMode | undefined;
  /** How calls that need approval are handled. By default, the user is asked if there is a terminal. */
  readonly onAsk?: AskingWay | undefined;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  readonly settings?: string | undefined;
  /** Restricts the main agent to delegation. */
  readonly coordinator: boolean;
  /** Whether agents may fork themselves. */
  readonly fork?: ForkChoice | undefined;
  /** How long the provider keeps the conversation in its cache. */
  readonly cacheLifetime?: CacheLifetime | undefined;
  /** Trusts the directory's own files for this run. */
  readonly trust: boolean;
  readonly verbose: boolean;
  readonly quiet: boolean;
  /** The options that a command needs to resume this run under the same conditions, quoted for a shell. */
  readonly repeated: string;
}

const lifetimes: readonly CacheLifetime[] = ["5m", "1h"];
const askingWays: readonly AskingWay[] = ["ask", "deny", "wait", "hook"];
const formats: readonly OutputFormat[] = ["text", "json", "stream-json"];

/** All options for a run. */
export const printOptionKinds = {
  "output-format": { value: "FORMAT", choices: formats },
  "include-partial-messages": {},
  "forward-subagent-text": {},
  agent: { value: "NAME" },
  agents: { value: "JSON" },
  coordinator: {},
  fork: { value: "WHEN", choices: forkChoices },
  model: { value: "NAME", short: "m" },
  provider: { value: "NAME" },
  effort: { value: "LEVEL", choices: efforts },
  "cache-lifetime": { value: "TIME", choices: lifetimes },
  "max-turns": { value: "N" },
  "max-cost": { value: "USD" },
  "max-tokens": { value: "N" },
  "max-spawns": { value: "N" },
  acceptance: { value: "COMMAND" },
  cwd: directoryOption,
  resume: { value: "ID", short: "r" },
  continue: { short: "c" },
  "permission-mode": { value: "MODE", choices: permissionModes },
  "on-ask": { value: "WHAT", choices: askingWays },
  "allowed-tools": { value: "RULES" },
  "disallowed-tools": { value: "RULES" },
  settings: { value: "FILE" },
  trust: {},
  verbose: {},
  quiet: { short: "q" },
} satisfies OptionKinds;

/**
 * Parses the options for a run. Throws a `UserError` with exit code 2 for invalid values and for options that can't
 * be combined.
 */
export function parsePrintOptions(options: ReadOptions): PrintOptions {
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
    throw usageError("--quiet and --verbose can't be combined", "Use one of them.");
  }
  return {
    prompt: options.positionals.join(" "),
    outputFormat,
    partialMessages: options.has("include-partial-messages"),
    subagentText: options.has("forward-subagent-text"),
    agent: options.value("agent"),
    agents: jsonObject(options, "agents"),
    model: options.value("model"),
    provider: options.value("provider"),
    effort: options.value("effort") as Effort | undefined,
    maxTurns: wholeNumber(options, "max-turns"),
    maxCost: amount(options, "max-cost"),
    maxTokens: wholeNumber(options, "max-tokens"),
    maxSpawns: wholeNumber(options, "max-spawns"),
    acceptance: acceptanceCommands(options),
    cwd: options.value("cwd"),
    resume: options.value("resume"),
    continueLatest: options.has("continue"),
    permissionMode: options.value("permission-mode") as PermissionMode | undefined,
    onAsk: options.value("on-ask") as AskingWay | undefined,
    allowedTools: rules(options, "allowed-tools"),
    disallowedTools: rules(options, "disallowed-tools"),
    settings: options.value("settings"),
    coordinator: options.has("coordinator"),
    fork: options.value("fork") as ForkChoice | undefined,
    cacheLifetime: options.value("cache-lifetime") as CacheLifetime | undefined,
    trust: options.has("trust"),
    verbose: options.has("verbose"),
    quiet: options.has("quiet"),
    repeated: repeatedOptions(options),
  };
}

/**
 * Options that are not repeated: those that identify the session or its agent, and those that affect only what is
 * shown.
 */
const notRepeated: ReadonlySet<string> = new Set([
  "agent",
  "resume",
  "continue",
  "output-format",
  "include-partial-messages",
  "forward-subagent-text",
  "verbose",
  "quiet",
]);

function repeatedOptions(options: ReadOptions): string {
  const kinds: OptionKinds = printOptionKinds;
  const names = Object.keys(kinds).filter((name) => options.has(name) && !notRepeated.has(name));
  return names
    .flatMap((name) => {
      const option = kinds[name]?.short === undefined ? `--${name}` : `-${kinds[name].short}`;
      if (kinds[name]?.value === undefined) return [option];
      return options.values(name).map((value) => `${option} ${shellWord(value)}`);
    })
    .join(" ");
}

const LONGEST_WORD = 120;

/** Quotes a value for a shell. Replaces a very long value with an ellipsis. */
function shellWord(value: string): string {
  if (value.length > LONGEST_WORD) return "'…'";
  return /^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

/** Reads rules. Throws a `UserError` for an invalid rule, because it may have been meant to deny something. */
function rules(options: ReadOptions, name: string): readonly string[] {
  const given = options.values(name).flatMap(splitRules);
  for (const rule of given) {
    const problem = invalidRule(rule);
    if (problem !== undefined) throw usageError(`--${name}: \`${rule}\` is not a valid rule`, capitalized(problem));
  }
  return given;
}

function capitalized(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

function acceptanceCommands(options: ReadOptions): readonly string[] {
  const given = options.values("acceptance");
  if (given.every((command) => command.trim() !== "")) return given;
  throw usageError(
    "--acceptance has no command",
    'Use one that exits with 0 if the work is good: --acceptance "npm test".',
  );
}

export function wholeNumber(options: ReadOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= 1) return value;
  throw usageError(`--${name} can't be "${text}"`, "Use a whole number above 0.");
}

export function amount(options: ReadOptions, name: string): number | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const value = Number(text.replace(/^\$/, ""));
  if (/^\$?(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) && Number.isFinite(value) && value > 0) return value;
  throw usageError(`--${name} can't be "${text}"`, "Use an amount in US dollars, such as 0.50.");
}

function jsonObject(options: ReadOptions, name: string): JsonObject | undefined {
  const text = options.value(name);
  if (text === undefined) return undefined;
  const file = /^@?([^{"[]+\.json)$/.exec(text)?.[1];
  const fromFile = file === undefined ? "" : ` To use a file: --${name} "$(cat ${file})".`;
  const fix = `Use --${name} '{"reviewer": {"description": "...", "prompt": "..."}}'.${fromFile}`;
  const parsed = parseJsonc(text);
  if ("error" in parsed) {
    const { line, column, message } = parsed.error;
    throw usageError(`The value of --${name} is not JSON: line ${line}, column ${column}: ${message}`, fix);
  }
  const { value } = parsed;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw usageError(`The value of --${name} is not a JSON object`, fix);
}
