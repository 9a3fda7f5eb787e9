import { VERSION } from "../app/index.ts";
import { misspelledName, nearest, type UserError } from "../lib/index.ts";
import type { CodeCache } from "./code-cache.ts";
import type { SteeringVerb } from "./commands/steer.ts";
import { exitCodes } from "./exit-codes.ts";
import type { CommandName, HelpTopic } from "./help/help.ts";
import { printHelp } from "./help/print-help.ts";
import { serverOption } from "./host/session-host.ts";
import type { InteractiveOptions } from "./interactive/run-interactive.ts";
import { createOutput } from "./output.ts";
import { type PrintOptions, parsePrintOptions, printOptionKinds } from "./print/print-options.ts";
import { printRun } from "./print/print-run.ts";
import {
  type HelpRequest,
  helpOption,
  type OptionKinds,
  type ReadOptions,
  readOptions,
  usageError,
} from "./read-options.ts";
import { runToExit } from "./run-to-exit.ts";
import { type ServingCommand, servingCommands } from "./serving-commands.ts";
import type { Leaving } from "./stop-signals.ts";

/** Runs the command line and ends the process after all output is written. This is the program's `run` entry point. */
export async function runCommand(argv: readonly string[], codeCache: CodeCache, leaving?: Leaving): Promise<void> {
  await runToExit(argv, () => dispatch(argv, codeCache, leaving));
}

type Command = (argv: readonly string[], codeCache: CodeCache) => Promise<number>;

type RunningCommand = Exclude<CommandName, ServingCommand>;

/**
 * Commands by name. Each command parses its own arguments. It is loaded when it is called, so that a run does not load
 * the other commands.
 */
const commands: Readonly<Record<RunningCommand, () => Promise<Command>>> = {
  sessions: async () => (await import("./commands/sessions/sessions.ts")).sessions,
  ps: async () => (await import("./commands/sessions/ps.ts")).ps,
  attach: async () => (await import("./commands/sessions/attach.ts")).attach,
  agents: async () => (await import("./commands/agents/agents.ts")).agents,
  plugins: async () => (await import("./commands/plugins.ts")).plugins,
  trust: async () => (await import("./commands/trust.ts")).trust,
  config: async () => (await import("./commands/config.ts")).config,
  worktrees: async () => (await import("./commands/worktrees.ts")).worktrees,
  permissions: async () => (await import("./commands/permissions.ts")).permissions,
  approvals: async () => (await import("./commands/approvals.ts")).approvals,
  schedule: async () => (await import("./commands/schedule.ts")).schedule,
  models: async () => (await import("./commands/models.ts")).models,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  cache: async () => (await import("./commands/cache.ts")).cache,
  message: () => steering("message"),
  stop: () => steering("stop"),
  resume: () => steering("resume"),
  background: () => steering("background"),
  foreground: () => steering("foreground"),
};

async function steering(verb: SteeringVerb): Promise<Command> {
  const { steer } = await import("./commands/steer.ts");
  return (argv) => steer(verb, argv);
}

const runningCommands = Object.keys(commands) as RunningCommand[];
const commandNames: readonly CommandName[] = [...runningCommands, ...servingCommands];

async function dispatch(argv: readonly string[], codeCache: CodeCache, leaving?: Leaving): Promise<number> {
  const [first, ...rest] = argv;
  const name = runningCommands.find((each) => each === first);
  if (name !== undefined) return (await commands[name]())(rest, codeCache);
  const request = parseRoot(argv);
  switch (request.kind) {
    case "print": {
      const code = await printRun(request.options, leaving);
      // Only a complete run has compiled the functions that the next run needs.
      if (code === exitCodes.succeeded) codeCache.keep();
      return code;
    }
    case "help":
      return printHelp(request.topic);
    case "version":
      await createOutput(process.stdout).write(`${VERSION}\n`);
      return exitCodes.succeeded;
    case "interactive": {
      const { hasWholeTerminal, runInteractive } = await import("./interactive/run-interactive.ts");
      if (!hasWholeTerminal(request.options)) throw noTerminal(request.options.prompt);
      return runInteractive(request.options);
    }
  }
}

type RootRequest =
  | { readonly kind: "print"; readonly options: PrintOptions }
  | { readonly kind: "interactive"; readonly options: InteractiveOptions }
  | { readonly kind: "version" }
  | HelpRequest;

/** Parses a command line that does not start with a command. Throws a `UserError` with exit code 2. */
export function parseRoot(argv: readonly string[]): RootRequest {
  const [first, ...rest] = argv;
  if (first === "help") return { kind: "help", topic: topicOf(rest[0]) };
  if (first === "version" && rest.length === 0) return { kind: "version" };
  const interactive = { server: serverOption, plain: {} };
  const kinds = {
    print: { short: "p" },
    ...printOptionKinds,
    ...interactive,
    version: { short: "V" },
    help: helpOption,
  };
  const options = readRootOptions(argv, kinds);
  const words = isPrompt(argv) ? [] : options.positionals;
  if (options.has("help")) {
    const problem = unknownCommand(argv, words);
    if (problem !== undefined) throw problem;
    return { kind: "help", topic: "retinue" };
  }
  if (options.has("version")) return { kind: "version" };
  if (options.has("print")) {
    const unusable = Object.keys(interactive).find((name) => options.has(name));
    if (unusable !== undefined) throw usageError(`--${unusable} does not work with -p`, "Leave one of them out.");
    return { kind: "print", options: parsePrintOptions(options) };
  }
  const problem = misplacedCommand(words) ?? unknownCommand(argv, words);
  if (problem !== undefined) throw problem;
  return { kind: "interactive", options: parseInteractiveOptions(options) };
}

/** Parses options. An unknown command has options that Retinue does not know, so its name is reported instead of them. */
function readRootOptions(argv: readonly string[], kinds: OptionKinds): ReadOptions {
  try {
    return readOptions(argv, { kinds, help: "retinue --help" });
  } catch (error) {
    const firstOption = argv.findIndex((word) => word.startsWith("-"));
    const words = isPrompt(argv) ? [] : argv.slice(0, Math.max(0, firstOption));
    throw unknownCommand(argv, words) ?? error;
  }
}

/** Returns whether the words on a command line are a prompt, and so can't be a command. */
function isPrompt(argv: readonly string[]): boolean {
  return argv.some((word) => ["-p", "--print", "--"].includes(word));
}

function parseInteractiveOptions(options: ReadOptions): InteractiveOptions {
  const forPrinting = ["output-format", "include-partial-messages", "forward-subagent-text", "acceptance", "on-ask"];
  const unusable = forPrinting.find((name) => options.has(name));
  if (unusable !== undefined) throw usageError(`--${unusable} works only with -p`, `Add -p, or remove --${unusable}.`);
  return { ...parsePrintOptions(options), server: options.value("server"), plain: options.has("plain") };
}

function topicOf(name: string | undefined): HelpTopic {
  const isRoot = name === undefined || ["retinue", "help", "run", "-p", "--print"].includes(name);
  const topic = isRoot ? "retinue" : commandNames.find((each) => each === name);
  if (topic !== undefined) return topic;
  const [meant] = nearest(name ?? "", commandNames);
  const fix = meant === undefined ? `Available commands: ${commandNames.join(", ")}.` : `Did you mean "${meant}"?`;
  throw usageError(`There is no command "${name}"`, fix);
}

function noTerminal(prompt: string): UserError {
  if (process.env["TERM"] === "dumb" && process.stdout.isTTY)
    return usageError("This terminal can't move its cursor (TERM is dumb)", "Set TERM, or pass --plain.");
  const example = asPrompt(prompt === "" ? "Map this repository" : prompt);
  return usageError(
    "The terminal interface needs a terminal for standard input and output",
    `Without one, use: ${example} (retinue --help shows more).`,
  );
}

/** Returns an error if options come before a command. */
function misplacedCommand([first = "", ...rest]: readonly string[]): UserError | undefined {
  if (!commandNames.some((name) => name === first) || rest.length > 2) return undefined;
  const prompt = asPrompt([first, ...rest].join(" "));
  return usageError(
    `"${first}" comes after an option`,
    `Put the command first: retinue ${[first, ...rest].join(" ")} [options]. For a prompt: ${prompt}.`,
  );
}

/**
 * Returns an error if words without `-p` look like a command that does not exist; undefined if they look like a prompt.
 * A single word in small letters that comes first looks like a command.
 */
function unknownCommand(argv: readonly string[], words: readonly string[]): UserError | undefined {
  const [first = "", second] = words;
  if (words.length > 3 || !/^[\w-]+$/.test(first)) return undefined;
  // Three or more words are more likely to be a prompt than another program's command.
  const others = words.length > 2 ? [] : Object.keys(elsewhere);
  // Short names are not suggested, because too many other words differ from them by one letter.
  const foreign = others.includes(first) ? first : misspelledName(first, others.filter(isLong));
  const meant = foreign ?? nearest(first, [...commandNames, "help"])[0];
  const isName = second === undefined && first === argv[0] && /^[a-z][a-z\d-]*$/.test(first);
  if (meant === undefined && !isName) return undefined;
  const fix =
    meant === undefined ? "See `retinue --help`." : (elsewhere[meant]?.(second) ?? `Did you mean "retinue ${meant}"?`);
  return usageError(`There is no command "${first}"`, `${fix} For a prompt: ${asPrompt(words.join(" "))}.`);
}

function isLong(name: string): boolean {
  return name.length > 3;
}

/** Returns the command line that runs a prompt. */
function asPrompt(prompt: string): string {
  return `retinue -p "${prompt.replaceAll('"', '\\"')}"`;
}

const noLogin = () =>
  "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY instead; `retinue doctor` shows which key is used.";
const newVersion = () => "Install the new version the same way you installed this one.";

/** Commands that other programs have, each with Retinue's alternative. The argument is the word after the command. */
const elsewhere: Readonly<Record<string, (argument: string | undefined) => string>> = {
  acp: () => "This version can't be used from editors over ACP. Programs can use `retinue serve` (docs/server.md).",
  demo: () => 'To try Retinue, send a prompt: retinue -p "Map this repository". It needs no key.',
  mcp: (verb) =>
    verb === "serve"
      ? "This version can't offer its agents to other programs over MCP. They can use `retinue serve` (docs/server.md)."
      : "Configure MCP servers in .mcp.json or in the settings (docs/mcp.md).",
  login: noLogin,
  logout: noLogin,
  auth: noLogin,
  update: newVersion,
  upgrade: newVersion,
  init: () => "Nothing needs to be set up. Instructions go into AGENTS.md, and `retinue agents new` creates an agent.",
  server: () => "Use `retinue serve`.",
  status: () => "Use `retinue ps`, which lists running agents.",
  skills: () => "docs/skills.md describes where skills are found.",
  hooks: () => "Configure hooks in the settings (docs/hooks.md).",
  settings: () => "Use `retinue config show`.",
  map: () => 'To map a repository, send a prompt: retinue -p "Map this repository".',
};
