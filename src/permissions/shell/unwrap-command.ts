import { readFind } from "./find-expression.ts";
import { isSafeExport } from "./safe-variables.ts";
import { fixedWord, openWord, type ShellWord } from "./shell-word.ts";

/** The commands that a command runs in addition to itself. */
export interface Unwrapped {
  /** The words of each inner command. */
  readonly commands: readonly (readonly ShellWord[])[];
  /** Scripts that a shell evaluates. */
  readonly scripts: readonly string[];
  readonly at: number | undefined;
  readonly transparent: boolean;
  readonly unsafeVariables: readonly string[];
  /** True if the inner commands run in another directory. */
  readonly moves: boolean;
  readonly obscure: string | undefined;
}

/**
 * Returns the commands that a command runs. Undefined if the command runs no other command, or runs one in an unknown
 * way: then rules for its parts allow nothing.
 */
export function unwrapCommand(words: readonly ShellWord[], input: ShellWord = unknownInput): Unwrapped | undefined {
  const program = words[0]!;
  if (program.open !== undefined) return undefined;
  const name = program.text.slice(program.text.lastIndexOf("/") + 1);
  const prefix = prefixes.get(name);
  if (prefix !== undefined) return byPrefix(words, prefix);
  if (name === "env") return unwrapEnv(words);
  if (name === "xargs") return unwrapXargs(words, input);
  if (name === "find") return unwrapFind(words);
  if (name === "eval") return unwrapEval(words);
  if (name === "trap") return unwrapTrap(words);
  return shells.has(name) ? unwrapShell(words, name) : undefined;
}

export const shells: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split(" "));

const unknownInput = openWord("(what xargs reads)", "");

const nothing = { scripts: [], unsafeVariables: [], moves: false, obscure: undefined };

/**
 * A program that runs the rest of its words, with its own options and the number of operands before the inner program.
 */
interface Prefix extends Options {
  readonly operands: number;
}

interface Options {
  readonly flags: string;
  readonly valued: string;
  readonly long: string;
}

const prefixes = new Map<string, Prefix>([
  ["nice", { flags: "0123456789", valued: "n", long: "adjustment", operands: 0 }],
  ["nohup", { flags: "", valued: "", long: "", operands: 0 }],
  ["timeout", { flags: "v", valued: "ks", long: "kill-after signal foreground preserve-status verbose", operands: 1 }],
  ["time", { flags: "pv", valued: "f", long: "portability verbose format", operands: 0 }],
  ["ionice", { flags: "t", valued: "cn", long: "class classdata ignore", operands: 0 }],
  ["stdbuf", { flags: "", valued: "ioe", long: "input output error", operands: 0 }],
  ["setsid", { flags: "cfw", valued: "", long: "ctty fork wait", operands: 0 }],
  ["command", { flags: "p", valued: "", long: "", operands: 0 }],
  ["builtin", { flags: "", valued: "", long: "", operands: 0 }],
  ["exec", { flags: "cl", valued: "a", long: "", operands: 0 }],
]);

function byPrefix(words: readonly ShellWord[], prefix: Prefix): Unwrapped | undefined {
  const start = afterOptions(words, prefix);
  if (start === undefined) return undefined;
  const at = start + prefix.operands;
  if (words.slice(start, at).some(({ open }) => open !== undefined) || at >= words.length) return undefined;
  return { ...nothing, commands: [words.slice(at)], at, transparent: true };
}

/** Returns the index of the first word that is not an option; undefined if an option is unknown. */
function afterOptions(words: readonly ShellWord[], options: Options): number | undefined {
  let index = 1;
  while (index < words.length) {
    const width = optionWidth(words, index, options);
    if (width === undefined) return undefined;
    if (width === 0) break;
    index += width;
    if (words[index - 1]?.text === "--" && width === 1) break;
  }
  return index;
}

/** Returns how many words the option at `index` takes: 0 if it is not an option, undefined if it is unknown. */
function optionWidth(words: readonly ShellWord[], index: number, { flags, valued, long }: Options): number | undefined {
  const { text, open, lead } = words[index]!;
  if (open !== undefined) return /^[^-]/.test(lead) ? 0 : undefined;
  if (!text.startsWith("-") || text === "-") return 0;
  if (text === "--") return 1;
  if (text.startsWith("--")) {
    const [option = "", value] = text.slice(2).split("=", 2);
    if (option === "" || !long.split(" ").includes(option)) return undefined;
    return value === undefined && longValues.has(option) ? fixedValue(words, index) : 1;
  }
  for (let at = 1; at < text.length; at += 1) {
    const letter = text[at]!;
    if (valued.includes(letter)) return at === text.length - 1 ? fixedValue(words, index) : 1;
    if (!flags.includes(letter)) return undefined;
  }
  return 1;
}

function fixedValue(words: readonly ShellWord[], index: number): number | undefined {
  return words[index + 1] !== undefined && words[index + 1]!.open === undefined ? 2 : undefined;
}

/** Long options of wrappers whose value may be the next word. */
const longValues = new Set(
  "adjustment kill-after signal format class classdata input output error max-args max-procs max-lines delimiter max-chars".split(
    " ",
  ),
);

function unwrapEnv(words: readonly ShellWord[]): Unwrapped | undefined {
  const unsafeVariables: string[] = [];
  let moves = false;
  let index = 1;
  for (; index < words.length; index += 1) {
    const { text, open } = words[index]!;
    const set = /^([A-Za-z_]\w*)=(.*)$/s.exec(text);
    if (set !== null) {
      const value = open === undefined ? fixedWord(set[2]!) : undefined;
      if (!isSafeExport(set[1]!, value)) unsafeVariables.push(set[1]!);
    } else if (open !== undefined) return undefined;
    else if (/^(-|-[i0v]+|--ignore-environment|--null|--debug|--unset=\w+|-u\w+)$/.test(text)) continue;
    else if (/^(-u|--unset)$/.test(text)) index += 1;
    else if (/^(-C|--chdir)$/.test(text)) {
      moves = true;
      index += 1;
    } else if (text.startsWith("--chdir=") || /^-C./.test(text)) moves = true;
    else if (/^(-[iv0]*S|--split-string=)/.test(text)) return splitByEnv(words, index);
    else if (text === "--") return envCommand(words, index + 1, { unsafeVariables, moves });
    else if (text.startsWith("-")) return undefined;
    else return envCommand(words, index, { unsafeVariables, moves });
  }
  return undefined;
}

function envCommand(
  words: readonly ShellWord[],
  at: number,
  { unsafeVariables, moves }: { unsafeVariables: readonly string[]; moves: boolean },
): Unwrapped | undefined {
  if (at >= words.length) return undefined;
  return { ...nothing, commands: [words.slice(at)], at, transparent: !moves, unsafeVariables, moves };
}

/**
 * Reads `env -S`, which splits the string by its own rules. Restrictions search the string, but allow rules never match
 * it.
 */
function splitByEnv(words: readonly ShellWord[], index: number): Unwrapped {
  const { text } = words[index]!;
  const glued = text.replace(/^(-[iv0]*S|--split-string=)/, "");
  const script = [glued, ...words.slice(index + 1).map((word) => word.text)].join(" ");
  return { ...nothing, commands: [], scripts: [script], at: undefined, transparent: false };
}

const xargsOptions: Options = {
  flags: "0rtx",
  valued: "nPLdsE",
  long: "null no-run-if-empty max-args max-procs max-lines delimiter max-chars verbose exit",
};

function unwrapXargs(words: readonly ShellWord[], input: ShellWord): Unwrapped | undefined {
  let placeholder: string | undefined;
  let index = 1;
  while (index < words.length) {
    const { text, open } = words[index]!;
    const replacing = open === undefined ? /^(-I|-i|--replace=?)(.*)$/s.exec(text) : null;
    if (replacing !== null) {
      const apart = replacing[1] === "-I" && replacing[2] === "";
      placeholder = (apart ? words[index + 1]?.text : replacing[2]) || "{}";
      index += apart ? 2 : 1;
      continue;
    }
    const width = optionWidth(words, index, xargsOptions);
    if (width === undefined) return undefined;
    if (width === 0) break;
    index += width;
    if (text === "--") break;
  }
  if (index >= words.length) return undefined;
  const inner = words.slice(index);
  // The input replaces every placeholder. Without a placeholder, the input is appended.
  const command =
    placeholder === undefined
      ? [...inner, input]
      : inner.map((word) => (word.text === placeholder ? input : opened(word, placeholder)));
  return { ...nothing, commands: [command], at: index, transparent: true };
}

function opened(word: ShellWord, placeholder: string): ShellWord {
  if (!word.text.includes(placeholder)) return word;
  return openWord(word.text, word.lead.slice(0, Math.max(0, word.lead.indexOf(placeholder))));
}

function unwrapFind(words: readonly ShellWord[]): Unwrapped | undefined {
  const found = readFind(words);
  if (found.executions.length === 0) return undefined;
  const { executions, understood } = found;
  const moves = executions.some(({ elsewhere }) => elsewhere);
  return {
    ...nothing,
    commands: executions.map((execution) => execution.words),
    at: undefined,
    transparent: understood,
    moves,
  };
}

function unwrapEval(words: readonly ShellWord[]): Unwrapped | undefined {
  const given = words.slice(1);
  if (given.length === 0) return undefined;
  const dynamic = given.some(({ open }) => open !== undefined);
  const script = given.map(({ text }) => text).join(" ");
  return {
    ...nothing,
    commands: [],
    scripts: [script],
    at: undefined,
    transparent: !dynamic,
    obscure: dynamic ? "eval runs code that only the shell knows" : undefined,
  };
}

function unwrapTrap(words: readonly ShellWord[]): Unwrapped | undefined {
  const script = words[1];
  if (script === undefined || /^-[lp]?$/.test(script.text)) return undefined;
  const dynamic = script.open !== undefined || script.text.startsWith("-");
  return {
    ...nothing,
    commands: [],
    scripts: [script.text],
    at: undefined,
    transparent: !dynamic,
    obscure: dynamic ? "trap runs code that only the shell knows" : undefined,
  };
}

/**
 * Reads `bash -c script`. The command is not transparent with options that load start-up files, or in shells with
 * another grammar.
 */
function unwrapShell(words: readonly ShellWord[], name: string): Unwrapped | undefined {
  let seen = false;
  let plain = name === "bash" || name === "sh" || name === "dash";
  let index = 1;
  for (; index < words.length; index += 1) {
    const { text, open } = words[index]!;
    if (open !== undefined || !/^[-+]./.test(text)) break;
    if (text === "--") {
      index += 1;
      break;
    }
    if (/^-[a-zA-Z]*c/.test(text)) seen = true;
    if (/^[-+][a-zA-Z]*o$/.test(text)) index += 1;
    plain &&= /^-[ceux]+$|^-[ceux]*o$|^--(norc|noprofile|posix)$/.test(text);
  }
  const script = words[index];
  if (!seen) return undefined;
  if (script === undefined || script.open !== undefined) {
    return {
      ...nothing,
      commands: [],
      at: undefined,
      transparent: false,
      obscure: "a shell runs code that only the shell knows",
    };
  }
  return { ...nothing, commands: [], scripts: [script.text], at: undefined, transparent: plain };
}
