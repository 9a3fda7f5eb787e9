import { CommanderError, InvalidArgumentError, Option, Command as Parser } from "commander";
import { nearest, UserError } from "../lib/index.ts";
import { type Effort, type PermissionMode, permissionModes } from "../protocol/index.ts";
import type { Command, HelpTopic, OutputFormat } from "./command.ts";
import { splitRules } from "./split-rules.ts";

/** Throws a `UserError` with exit code 2 for what it can't read. */
export function parseArguments(argv: readonly string[]): Command {
  const [first, ...rest] = argv;
  try {
    if (first === "sessions") return parseSessions(rest);
    if (first === "doctor") return parseDoctor(rest);
    if (first === "help") return { kind: "help", topic: topicOf(rest[0]) };
    return parseRoot(argv);
  } catch (error) {
    if (error instanceof CommanderError) throw asUserError(error, topicOf(first));
    throw error;
  }
}

const efforts: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];
const formats: readonly OutputFormat[] = ["text", "json", "stream-json"];

interface RootFlags {
  readonly print?: true;
  readonly version?: true;
  readonly help?: true;
  readonly outputFormat: OutputFormat;
  readonly includePartialMessages?: true;
  readonly model?: string;
  readonly provider?: string;
  readonly effort?: Effort;
  readonly maxTurns?: number;
  readonly cwd?: string;
  readonly resume?: string;
  readonly continue?: true;
  readonly permissionMode?: PermissionMode;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly settings?: string;
  readonly verbose?: true;
}

function parseRoot(argv: readonly string[]): Command {
  const parser = newParser()
    .argument("[prompt...]")
    .option("-p, --print")
    .addOption(new Option("--output-format <format>").choices(formats).default("text"))
    .option("--include-partial-messages")
    .option("-m, --model <model>", "", nonEmpty)
    .option("--provider <name>", "", nonEmpty)
    .addOption(new Option("--effort <level>").choices(efforts))
    .option("--max-turns <count>", "", positiveInteger)
    .option("-C, --cwd <directory>", "", nonEmpty)
    .option("-r, --resume <id>", "", nonEmpty)
    .option("-c, --continue")
    .addOption(new Option("--permission-mode <mode>").choices(permissionModes))
    .option("--allowed-tools <rules>", "", addRules)
    .option("--disallowed-tools <rules>", "", addRules)
    .option("--settings <file>", "", nonEmpty)
    .option("--verbose")
    .option("-V, --version")
    .option("-h, --help")
    .parse(argv, { from: "user" });
  const flags = parser.opts<RootFlags>();
  if (flags.help) return { kind: "help", topic: "retinue" };
  if (flags.version) return { kind: "version" };
  const prompt = parser.args.join(" ");
  if (!flags.print) return withoutPrint(parser.args);
  if (flags.resume !== undefined && flags.continue) {
    throw usage("--resume and --continue both name a session", "Use one of them.");
  }
  if (flags.includePartialMessages && flags.outputFormat !== "stream-json") {
    throw usage("--include-partial-messages needs a stream", "Add --output-format stream-json.");
  }
  return {
    kind: "print",
    options: {
      prompt,
      outputFormat: flags.outputFormat,
      partialMessages: flags.includePartialMessages === true,
      continueLatest: flags.continue === true,
      allowedTools: flags.allowedTools ?? [],
      disallowedTools: flags.disallowedTools ?? [],
      verbose: flags.verbose === true,
      ...only(flags, ["model", "provider", "effort", "maxTurns", "cwd", "resume", "permissionMode", "settings"]),
    },
  };
}

function withoutPrint(words: readonly string[]): Command {
  const [word] = words;
  const meant = words.length <= 3 && word !== undefined ? nearest(word, ["sessions", "doctor", "help"])[0] : undefined;
  if (meant !== undefined) throw usage(`There is no command "${word}"`, `Did you mean "retinue ${meant}"?`);
  return { kind: "interactive", prompt: words.join(" ") };
}

function parseSessions(argv: readonly string[]): Command {
  const verbs = ["list", "show", "delete"];
  const verb = argv[0] === undefined || argv[0].startsWith("-") ? "list" : argv[0];
  const parser = newParser().option("--json").option("-h, --help");
  if (verb === "list") parser.option("--all").option("-C, --cwd <directory>", "", nonEmpty);
  if (verb === "delete") parser.option("-y, --yes");
  parser.argument("[ids...]").parse(verb === argv[0] ? argv.slice(1) : argv, { from: "user" });
  const flags = parser.opts<{ json?: true; help?: true; all?: true; yes?: true; cwd?: string }>();
  const [id, ...more] = parser.args;
  const json = flags.json === true;
  if (flags.help || verb === "help") return { kind: "help", topic: "sessions" };
  if (verb === "list") {
    if (id !== undefined) throw usage(`"sessions list" takes no id`, `Use "retinue sessions show ${id}".`);
    return { kind: "sessions.list", json, all: flags.all === true, ...only(flags, ["cwd"]) };
  }
  if (!verbs.includes(verb)) {
    const meant = nearest(verb, verbs)[0];
    const cure = meant === undefined ? `There are ${verbs.join(", ")}.` : `Did you mean "${meant}"?`;
    throw usage(`"sessions" has no command "${verb}"`, cure);
  }
  if (id === undefined) {
    throw usage(`"sessions ${verb}" needs the id of a session`, `"retinue sessions list" shows them.`);
  }
  if (verb === "delete") return { kind: "sessions.delete", ids: parser.args, yes: flags.yes === true };
  if (more.length > 0) throw usage(`"sessions show" takes one id`, "Show one session at a time.");
  return { kind: "sessions.show", id, json };
}

function parseDoctor(argv: readonly string[]): Command {
  const parser = newParser()
    .option("--json")
    .option("-h, --help")
    .option("--provider <name>", "", nonEmpty)
    .option("-m, --model <model>", "", nonEmpty)
    .option("--settings <file>", "", nonEmpty)
    .allowExcessArguments(false)
    .parse(argv, { from: "user" });
  const flags = parser.opts<{ json?: true; help?: true; provider?: string; model?: string; settings?: string }>();
  if (flags.help) return { kind: "help", topic: "doctor" };
  return {
    kind: "doctor",
    options: { json: flags.json === true, ...only(flags, ["provider", "model", "settings"]) },
  };
}

/** Says nothing and exits nowhere: it only reads or throws. */
function newParser(): Parser {
  const parser = new Parser("retinue").helpOption(false).helpCommand(false).exitOverride();
  return parser.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
}

function nonEmpty(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("It is empty.");
  return text;
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError("It must be a whole number from 1 on.");
  }
  return value;
}

function addRules(text: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), ...splitRules(text)];
}

/** The keys that are there: a property that is absent is not one that is undefined. */
function only<Flags extends object, Key extends keyof Flags>(flags: Flags, keys: readonly Key[]): Pick<Flags, Key> {
  const picked: Partial<Flags> = {};
  for (const key of keys) if (flags[key] !== undefined) picked[key] = flags[key];
  return picked as Pick<Flags, Key>;
}

function topicOf(word: string | undefined): HelpTopic {
  return word === "sessions" || word === "doctor" ? word : "retinue";
}

function usage(message: string, cure: string): UserError {
  return new UserError(message, { code: "usage", cure, exitCode: 2 });
}

function asUserError({ message, code }: CommanderError, topic: HelpTopic): UserError {
  const [sentence = "", hint] = message.replace(/^error: /, "").split("\n");
  const help = topic === "retinue" ? "retinue --help" : `retinue ${topic} --help`;
  const suggestion = hint?.replace(/^\((.*)\)$/, "$1");
  const dash =
    topic === "retinue" && code === "commander.unknownOption"
      ? ` A prompt that begins with a dash goes after "--".`
      : "";
  return usage(capitalized(sentence), suggestion ?? `See "${help}".${dash}`);
}

function capitalized(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
