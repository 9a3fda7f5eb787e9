import { extractsHere } from "../shell/copied-files.ts";
import { joinPattern } from "../shell/directory-changes.ts";
import { builtins } from "../shell/programs/builtins.ts";
import { type CommandEffect, type Effects, isReading } from "../shell/programs/effects.ts";
import { effectsOf } from "../shell/programs/effects-of.ts";
import { wrappers } from "../shell/programs/wrappers.ts";
import { type Directories, programOf, type ShellAnalysis, type SimpleCommand } from "../shell/shell-analysis.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { unescapePattern } from "../shell/word-patterns.ts";
import type { GitRepositories } from "./git-hazards.ts";
import { protectedPart } from "./protected-path.ts";

/** Workspace roots and loop variables, which determine what the arguments of a command refer to. */
export interface ArgumentContext {
  readonly roots: readonly string[];
  readonly loopWords: ShellAnalysis["loopWords"];
  /**
   * Explains why the files that a word names in the real directory must not be used: they are protected, or symlinks
   * lead outside the workspace. If absent, only the text of the word is judged.
   */
  readonly fileHazard?: ((command: SimpleCommand, word: ShellWord) => string | undefined) | undefined;
  /** If absent, only the words of git commands are judged. */
  readonly repositories?: GitRepositories | undefined;
}

/** The words of a command that a rule's wildcards cover. */
export interface WildWords {
  readonly wild: readonly ShellWord[];
  /** True if the rule itself contains a URL. */
  readonly namesUrl: boolean;
}

/**
 * Explains why a rule's wildcard must not cover these words; undefined if it may. A user who allows `git log:*` does
 * not intend to allow `git log --output=…`: arguments that run another program or leave the workspace need a rule that
 * spells them out.
 */
export function wildcardHazard(
  command: SimpleCommand,
  { wild, namesUrl }: WildWords,
  context: ArgumentContext,
): string | undefined {
  const name = programOf(command);
  if (printers.has(name)) return undefined;
  if (launchers.has(name)) return `${name} runs other programs`;
  if (extractsHere(command)) return "the archive may contain protected files, or replace them";
  const effects = effectsOf(command);
  for (const effect of effects) {
    // Skip effects of words that the rule spells out. Effects of the program itself (index 0) are always checked.
    if (effect.at > 0 && !wild.includes(command.words[effect.at]!)) continue;
    const hazard = effectHazard(effect, { command, name, namesUrl, effects }, context);
    if (hazard !== undefined) return hazard;
  }
  const isReader = effects.every(isReading);
  const isPush = name === "git" && command.words.some(({ text }) => text === "push");
  for (const [index, word] of wild.entries()) {
    if (messengers.has(name) && isMessage(wild[index - 1], word)) continue;
    const outside = whyOutsideWorkspace(word, context);
    if (outside !== undefined) return outside;
    const part = isReader ? undefined : protectedIn(word, context, command.directories);
    if (part !== undefined) return `an argument names ${part}`;
    if (!isReader && forceful.test(word.text)) return `${word.text} needs a rule that spells it out`;
    const hazard = isReader ? undefined : context.fileHazard?.(command, word);
    if (hazard !== undefined) return hazard;
    if (isPush && isForceful(word)) return "it could overwrite or delete branches in the remote repository";
    if (name === "git" && /^\+/.test(word.text)) return "it could overwrite a branch";
    if (removers.has(name) && (/^[./]*$/.test(word.text) || (word.open !== undefined && !/^[^-]/.test(word.lead))))
      return `${name} would apply to a whole directory`;
  }
  return undefined;
}

/** Options that make many programs discard something or skip checks. */
const forceful = /^--(force|hard|no-verify|delete)(=|$)/;

/** Returns true for options and refspecs of `git push` that overwrite or delete: `--force`, `-d`, `+main`, `:main`. */
function isForceful({ text, open, lead }: ShellWord): boolean {
  if (open !== undefined && !/^[^-+:]/.test(lead)) return true;
  return /^(--(forc|de|mi|pru)|-[a-zA-Z]*[fd]|[+:])/.test(text);
}

interface HazardSubject {
  readonly command: SimpleCommand;
  readonly name: string;
  readonly namesUrl: boolean;
  readonly effects: Effects;
}

function effectHazard(
  effect: CommandEffect,
  { command, name, namesUrl, effects }: HazardSubject,
  context: ArgumentContext,
): string | undefined {
  switch (effect.kind) {
    case "run":
      return effect.reason;
    case "directory":
      return name === "git" ? "git would run in another directory" : whyOutsideWorkspace(effect.word, context);
    case "read":
    case "list":
      return whyOutsideWorkspace(effect.word, context);
    case "write": {
      if (searchers.has(name)) return `${name} would write a file`;
      const part = protectedIn(effect.word, context);
      return part === undefined ? whyOutsideWorkspace(effect.word, context) : `an argument names ${part}`;
    }
    case "network": {
      const addresses = effects.filter(({ kind, at }) => kind === "network" && at > 0);
      return namesUrl && addresses.length > 1 ? "the rule names one address, and the command uses several" : undefined;
    }
    case "change":
      if (builtinNames.has(name)) return `${name} can evaluate its arguments, which can run commands`;
      // An option of git that changes something discards or replaces what exists: `--force`, `--amend`, `-D`.
      return name === "find" || (name === "git" && isOption(command, effect.at)) ? effect.reason : undefined;
    case "unknown":
      return effect.of === "code" || (modelled.has(name) && effect.at > 0) ? effect.reason : undefined;
    case "variable":
      return undefined;
  }
}

function isOption({ words }: SimpleCommand, at: number): boolean {
  return words[at]!.text.startsWith("-");
}

/** Programs of which wildcards cover only subcommands and options in the tables. */
export const modelled: ReadonlySet<string> = new Set(["git", "npm"]);

/** Programs that run a program named in their arguments. */
export const launchers: ReadonlySet<string> = new Set(wrappers.map(([name]) => name));

const builtinNames: ReadonlySet<string> = new Set(builtins.map(([name]) => name));

/**
 * Programs that users usually allow for reading. A rule that allows such a program is not meant to let it write files.
 */
const searchers = new Set(["find", "git"]);

/** Programs whose arguments are only text. */
const printers = new Set("echo true false :".split(" "));

/** Programs for which a wildcard must not cover the whole workspace. */
const removers = new Set("rm rmdir mv chmod chown chgrp".split(" "));

/** Programs for which `-m` is followed by a message. */
const messengers = new Set("git hg svn jj gh".split(" "));

/** Returns true for the value of `-m`: a message is only text, even if the shell expands it. */
function isMessage(before: ShellWord | undefined, word: ShellWord): boolean {
  return before?.open === undefined && /^(-[A-Za-z]*m|--message)$/.test(before?.text ?? "") && !word.splits;
}

/**
 * Explains why a word could refer to something outside the workspace; undefined if it can't. Does not follow symlinks;
 * `fileHazard` does.
 */
function whyOutsideWorkspace(word: ShellWord, context: ArgumentContext): string | undefined {
  if (word.open === "value") return whyValueOutside(word, context);
  // The value of an option follows `=`, or directly follows its letters (`-o/etc/x`, `-Ei../x`).
  const value = word.text.replace(/^--?[\w-]*=/, "").replace(/^-[A-Za-z]+(?=[/.~])/, "");
  if (/^(https?|ssh|git):\/\//i.test(value)) return undefined;
  if (/^[A-Za-z][\w+.-]*:(\/\/|:)/.test(value)) return "an argument is a URL that can refer to files or programs";
  if (/(^|[/:=@{,])\.\.([/},]|$)/.test(value)) return "an argument leaves its directory with `..`";
  if (word.open === "glob" && /[{,][/~]/.test(value)) return "an argument expands to a path outside the workspace";
  if (/^@?\//.test(value) && rootOf(value, context) === undefined) return "an argument is a path outside the workspace";
  return undefined;
}

/** Returns the protected file that a word literally names; undefined if it names none. */
function protectedIn(word: ShellWord, context: ArgumentContext, directories: Directories = [""]): string | undefined {
  const value = word.text.replace(/^[\w-]*=/, "");
  for (const directory of directories) {
    const path = joinPattern(unescapePattern(directory), value);
    const part = protectedPart(path.slice(rootOf(path, context)?.length ?? 0));
    if (part !== undefined) return part;
  }
  return undefined;
}

function whyValueOutside({ variables }: ShellWord, context: ArgumentContext): string | undefined {
  const known = variables?.every((name) => {
    const words = context.loopWords.get(name);
    return words?.every((word) => word.open !== "value" && whyOutsideWorkspace(word, context) === undefined);
  });
  return known === true ? undefined : "only the shell knows the value of an argument";
}

function rootOf(value: string, { roots }: ArgumentContext): string | undefined {
  return roots.find((root) => value === root || value.startsWith(`${root}/`));
}
