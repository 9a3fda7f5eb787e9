import { parseArgs } from "node:util";
import { misspelledName, nearest, UserError } from "../lib/index.ts";
import type { HelpTopic } from "./help/help.ts";

export interface OptionKind {
  /** Name of the value in messages, in capitals; absent for an option without a value. */
  readonly value?: string;
  readonly short?: string;
  readonly choices?: readonly string[];
}

/** Options by their long names. */
export type OptionKinds = Readonly<Record<string, OptionKind>>;

export interface ReadOptions {
  /** Positional arguments, in order. */
  readonly positionals: readonly string[];
  has(name: string): boolean;
  /** Returns the last value given. */
  value(name: string): string | undefined;
  values(name: string): readonly string[];
}

export const helpOption: OptionKind = { short: "h" };
export const directoryOption: OptionKind = { value: "DIRECTORY", short: "C" };

/** Parses a command line. Throws a `UserError` with exit code 2 that suggests `help`, the command that shows more. */
export function readOptions(
  argv: readonly string[],
  { kinds, help }: { readonly kinds: OptionKinds; readonly help: string },
): ReadOptions {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {};
  for (const [name, { value, short }] of Object.entries(kinds)) {
    const type = value === undefined ? "boolean" : "string";
    options[name] = short === undefined ? { type } : { type, short };
  }
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  const positionals: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const kind = Object.hasOwn(kinds, token.name) ? kinds[token.name] : undefined;
    if (kind === undefined) {
      const isRun = tokens.some((each) => each.kind === "option" && each.name === "print");
      throw unknownOption(argv[token.index] ?? token.rawName, { kinds, help, isRun });
    }
    const value = checkedValue(token, kind);
    given.set(token.name, [...(given.get(token.name) ?? []), value]);
  }
  return {
    positionals,
    has: (name) => given.has(name),
    value: (name) => given.get(name)?.at(-1),
    values: (name) => given.get(name) ?? [],
  };
}

/** Returned instead of a parsed command when the user asks for help. */
export interface HelpRequest {
  readonly kind: "help";
  readonly topic: HelpTopic;
}

interface VerbOptions {
  /** Options of each verb. */
  readonly verbs: Readonly<Record<string, OptionKinds>>;
  /** Verbs that the caller has already parsed; they are only listed in messages. */
  readonly others?: readonly string[];
}

/**
 * Parses `VERB [options]` after the name of a command. The first of `verbs` is the default. Throws a `UserError` with
 * exit code 2.
 */
export function readVerb(
  topic: HelpTopic,
  argv: readonly string[],
  { verbs, others = [] }: VerbOptions,
): HelpRequest | { readonly verb: string; readonly options: ReadOptions } {
  const known = Object.keys(verbs);
  const [first = "-"] = argv;
  const isNamed = !first.startsWith("-");
  const verb = isNamed ? first : (known[0] ?? "");
  if (verb === "help") return { kind: "help", topic };
  const kinds = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (kinds === undefined) throw unknownVerb(topic, verb, [...known, ...others]);
  const options = readOptions(isNamed ? argv.slice(1) : argv, { kinds, help: `retinue ${topic} --help` });
  return options.has("help") ? { kind: "help", topic } : { verb, options };
}

/**
 * Splits a list of rules at commas and spaces outside of parentheses: `Read, Bash(git log, git show) Edit` has three
 * rules.
 */
export function splitRules(text: string): string[] {
  const rules: string[] = [];
  let depth = 0;
  let rule = "";
  for (const character of text) {
    if (character === "(") depth += 1;
    if (character === ")") depth = Math.max(0, depth - 1);
    if (depth === 0 && /[\s,]/.test(character)) {
      if (rule !== "") rules.push(rule);
      rule = "";
    } else rule += character;
  }
  return rule === "" ? rules : [...rules, rule];
}

/** Throws a `UserError` if there is a positional argument. */
export function refusePositionals({ positionals }: ReadOptions, command: string, fix: string): void {
  if (positionals[0] !== undefined) throw usageError(`"${command}" does not accept "${positionals[0]}"`, fix);
}

export function usageError(message: string, fix: string): UserError {
  return new UserError(message, { code: "usage", fix, exitCode: 2 });
}

interface OptionToken {
  readonly name: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
  /** The option as the user wrote it, such as `-m`. */
  readonly rawName: string;
}

function checkedValue({ name, value, inlineValue, rawName }: OptionToken, kind: OptionKind): string {
  if (kind.value === undefined) {
    if (inlineValue) throw usageError(`--${name} takes no value`, `Use --${name} alone.`);
    return "";
  }
  const looksLikeOption = !inlineValue && value !== undefined && /^-[^\d.]/.test(value);
  if (value === undefined || looksLikeOption) {
    const dash = looksLikeOption ? ` (for a value that begins with a dash, use --${name}=${value})` : "";
    throw usageError(`${rawName} needs a value`, `Use ${rawName} ${kind.value}${dash}.`);
  }
  if (inlineValue && /^-[^-]$/.test(rawName) && value.startsWith("=")) {
    const given = value.slice(1) || kind.value;
    throw usageError(`${rawName} takes its value without "="`, `Use ${rawName} ${given} or --${name}=${given}.`);
  }
  if (value.trim() === "") throw usageError(`The value of ${rawName} is empty`, `Use ${rawName} ${kind.value}.`);
  if (kind.choices !== undefined && !kind.choices.includes(value)) {
    // A loose guess could suggest a permission mode that allows more than the user intended.
    const meant = misspelledName(value, kind.choices);
    const list = `It can be ${kind.choices.join(", ")}.`;
    throw usageError(`--${name} can't be "${value}"`, meant === undefined ? list : `Did you mean ${meant}? ${list}`);
  }
  return value;
}

interface UnknownOption {
  readonly kinds: OptionKinds;
  readonly help: string;
  /** Whether the command line has `-p`, so that the argument may be meant as a prompt. */
  readonly isRun: boolean;
}

function unknownOption(argument: string, { kinds, help, isRun }: UnknownOption): UserError {
  const name = argument.replace(/=.*/s, "");
  // `-p=1` is read as the options -p, -= and -1.
  if (/^-[^-]$/.test(name) && Object.values(kinds).some(({ short }) => `-${short}` === name)) {
    const alone = name === "-p" ? 'Write the prompt after it: retinue -p "…".' : `Use ${name} alone.`;
    return usageError(`${name} takes no value`, alone);
  }
  const meant = name.startsWith("--") ? nearest(name.slice(2), Object.keys(kinds))[0] : undefined;
  const hint = `See "${help}".${isRun ? ' A prompt that begins with a dash goes after "--".' : ""}`;
  return usageError(`There is no option ${name}`, meant === undefined ? hint : `Did you mean --${meant}?`);
}

function unknownVerb(topic: HelpTopic, verb: string, known: readonly string[]): UserError {
  const [meant] = nearest(verb, known);
  const [only = ""] = known;
  const list = `${known.slice(0, -1).join(", ")} and ${known.at(-1)}`;
  const all = known.length === 1 ? `Use "retinue ${topic} ${only}".` : `Its commands are ${list}.`;
  return usageError(`"${topic}" has no command "${verb}"`, meant === undefined ? all : `Did you mean "${meant}"?`);
}
