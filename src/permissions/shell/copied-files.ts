import { gitSubcommand } from "./git-contents.ts";
import { programs } from "./programs/effects-of.ts";
import { sortArguments } from "./programs/read-arguments.ts";
import { programOf, type SimpleCommand } from "./shell-analysis.ts";
import type { ShellWord } from "./shell-word.ts";

/** A command that writes files under names that they already have elsewhere: in other directories or in an archive. */
export interface Copying {
  /** The words that name the files to copy or move. Empty for an archive, whose contents are unknown. */
  readonly sources: readonly ShellWord[];
  /** The word that names the destination; undefined for the working directory. */
  readonly target: ShellWord | undefined;
  readonly isArchive: boolean;
  /** True if directories are copied or moved with everything in them. */
  readonly isRecursive: boolean;
  /** True if a symlink is copied or moved unchanged, so that it may lead elsewhere from its new location. */
  readonly keepsLinks: boolean;
  /** True if the command makes links to its sources. */
  readonly makesLinks: boolean;
  /** True if the sources and the destination can't be determined from the words. */
  readonly isUnclear: boolean;
}

/** Returns the files that a command copies, moves or extracts; undefined for any other command. */
export function copyingBy(command: SimpleCommand): Copying | undefined {
  const name = programOf(command);
  switch (name) {
    case "cp":
    case "mv":
    case "ln":
    case "rsync":
      return copying(command, name);
    case "git":
      return gitMove(command);
    case "tar":
    case "gtar":
    case "bsdtar":
      return isTarExtraction(command) ? extraction(command, tarTarget) : undefined;
    case "unzip":
      return command.words.slice(1).some(({ text }) => /^-[a-zA-Z]*[lvzpt]/.test(text))
        ? undefined
        : extraction(command, /^-[a-zA-Z]*d(.*)$/);
    case "7z":
    case "7za":
    case "7zr":
      return /^[ex]$/.test(command.words[1]?.text ?? "") ? extraction(command, /^-o(.+)$/) : undefined;
    case "cpio":
      return command.words.some(({ text }) => /^-[a-zA-Z]*[ip]|^--(ext|pass)/.test(text))
        ? extraction(command, /^(?!)/)
        : undefined;
    default:
      return undefined;
  }
}

/**
 * Returns true if a command extracts an archive to the working directory, or to a directory that only the shell knows.
 */
export function extractsHere(command: SimpleCommand): boolean {
  const found = copyingBy(command);
  if (found?.isArchive !== true) return false;
  const { target } = found;
  return target === undefined || target.open !== undefined || isHere(target.text);
}

/** Returns true for `.`, `./` and the like. */
export function isHere(path: string): boolean {
  return path.split("/").every((name) => name === "" || name === ".");
}

function copying(command: SimpleCommand, name: string): Copying {
  const spec = programs.get(name)!;
  const { options, operands, effects } = sortArguments(spec, command.words, { from: 1, name });
  const has = (names: RegExp) => options.some(({ option = "" }) => names.test(option));
  const isUnclear = name !== "rsync" && effects.some(({ kind }) => kind === "unknown");
  const directory = options.find(({ option }) => option === "--target-directory");
  const isAlone = directory === undefined && operands.length === 1;
  const target = directory ?? (isAlone ? undefined : operands.at(-1));
  const makesLinks = name === "ln" || has(/^--(symbolic|link)$/);
  const isRecursive = name !== "ln" && (name !== "cp" || isUnclear || has(/^--(archive|recursive)$/));
  return {
    sources: operands.filter((operand) => operand !== target).map(({ word }) => word),
    target: target?.word,
    isArchive: false,
    isRecursive,
    keepsLinks: isRecursive || has(/^(--no-dereference|-d)$/),
    makesLinks,
    isUnclear,
  };
}

function gitMove(command: SimpleCommand): Copying | undefined {
  const subcommand = gitSubcommand(command);
  if (subcommand?.name !== "mv") return undefined;
  const operands = subcommand.given.filter(({ text }) => !text.startsWith("-"));
  const isUnclear = operands.some(({ open }) => open !== undefined);
  return {
    ...{ sources: operands.slice(0, -1), target: operands.at(-1), isArchive: false, isRecursive: true },
    ...{ keepsLinks: true, makesLinks: false, isUnclear },
  };
}

/** Returns true for `tar x`, with or without a dash. */
function isTarExtraction({ words }: SimpleCommand): boolean {
  return words.some(
    ({ text, open, lead }, index) =>
      (open !== undefined && lead === "") ||
      /^-[^-]*x|^--(ext|ge)/.test(text) ||
      (index === 1 && /^[A-Za-z]*x/.test(text)),
  );
}

const tarTarget = /^(?:-[a-zA-Z]*C|--(?:dir[a-z]*|one-top-level)=?)(.*)$/;

/**
 * Finds the destination: the value of an option, in the same word or in the next one. If there are several
 * destinations, the last one applies.
 */
function extraction({ words }: SimpleCommand, option: RegExp): Copying {
  let target: ShellWord | undefined;
  for (const [index, word] of words.entries()) {
    const value = index === 0 ? undefined : option.exec(word.text)?.[1];
    if (value === "") target = words[index + 1];
    else if (value !== undefined) target = { ...word, text: value, lead: value };
  }
  const isUnclear = target !== undefined && target.open !== undefined;
  return {
    ...{ sources: [], target, isArchive: true, isRecursive: true, keepsLinks: true, makesLinks: true },
    isUnclear,
  };
}
