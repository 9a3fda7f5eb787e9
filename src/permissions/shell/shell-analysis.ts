import { listedWord, type ShellWord } from "./shell-word.ts";

/**
 * Commands and redirections in a command line, as far as its text shows. The same text always produces the same
 * analysis.
 */
export interface ShellAnalysis {
  readonly text: string;
  readonly commands: readonly SimpleCommand[];
  /** The files that redirections open. Devices that store nothing (`/dev/null`) are left out. */
  readonly redirections: readonly Redirection[];
  /**
   * Explains why it is unknown what would run: invalid syntax, evaluated text or an exceeded limit. The line may run
   * anything.
   */
  readonly obscure: string | undefined;
  /** Explains why the line needs a review although all commands that it runs are known. */
  readonly caution: string | undefined;
  /** Variables of `for` loops, with every word they take. Variables that are also set elsewhere are left out. */
  readonly loopWords: ReadonlyMap<string, readonly ShellWord[]>;
  /** True if the line changes the working directory, so that its relative paths do not start at the workspace. */
  readonly moves: boolean;
}

/**
 * The directories in which a command may run, as patterns that start at the workspace; the workspace itself is "".
 * Undefined if they are unknown.
 */
export type Directories = readonly string[] | undefined;

export interface SimpleCommand {
  /** The first word is the program. Never empty. */
  readonly words: readonly ShellWord[];
  /** Variables that are set only for this command and may be harmful. */
  readonly unsafeVariables: readonly string[];
  readonly directories: Directories;
  /**
   * Commands that this command runs in turn, if its words name them: `timeout 5 make`, `bash -c '…'`, `find -exec …`.
   */
  readonly runs: InnerCommands | undefined;
}

export interface InnerCommands {
  readonly commands: readonly SimpleCommand[];
  /** Index of the inner program among the outer words; undefined for a script in a string. */
  readonly at: number | undefined;
  /** True if the outer command only runs the inner ones, so that it is as harmless as they are. */
  readonly transparent: boolean;
}

export interface Redirection {
  readonly kind: "read" | "write";
  /** Path of the file, as seen from the workspace; undefined if only the shell can determine it. */
  readonly path: string | undefined;
  /** The path as a pattern, if the workspace must expand it. */
  readonly pattern?: string | undefined;
}

/** A command that must be allowed separately. */
export interface CommandUnit {
  readonly command: SimpleCommand;
  /** The transparent programs that run the command, outermost first. */
  readonly wrappers: readonly SimpleCommand[];
}

/** Returns every distinct command to judge, with transparent wrappers replaced by the commands they run. */
export function unitsOf({ commands }: ShellAnalysis): readonly CommandUnit[] {
  const units = new Map<string, CommandUnit>();
  const add = (command: SimpleCommand, wrappers: readonly SimpleCommand[]) => {
    const { runs } = command;
    if (runs?.transparent !== true || command.words[0]!.text.endsWith("find")) {
      const key = [...wrappers, command].map(keyOf).join("\u0001");
      if (!units.has(key)) units.set(key, { command, wrappers });
    }
    if (runs?.transparent !== true) return;
    for (const inner of runs.commands) add(inner, [...wrappers, command]);
  };
  for (const command of commands) add(command, []);
  return [...units.values()];
}

function keyOf({ words, unsafeVariables, directories = ["?"] }: SimpleCommand): string {
  const texts = words.map(({ text, open, lead }) => (open === undefined ? text : `${open} ${lead}\u0002${text}`));
  return [...directories, "", ...unsafeVariables, "", ...texts].join("\u0000");
}

/** Yields every simple command at every depth, wrappers before the commands they run. */
export function* everyCommand(commands: readonly SimpleCommand[]): Generator<SimpleCommand> {
  for (const command of commands) {
    yield command;
    if (command.runs !== undefined) yield* everyCommand(command.runs.commands);
  }
}

/** Returns the name of the program, without its directory. */
export function programOf(command: SimpleCommand): string {
  const { text } = command.words[0]!;
  return text.slice(text.lastIndexOf("/") + 1);
}

/**
 * Returns the word that xargs would pass on if it read the command's output, provided that the output consists of names
 * of files below a directory; undefined otherwise. `input` is such a word that the command itself reads.
 */
export function listedFiles(command: SimpleCommand, input: ShellWord | undefined): ShellWord | undefined {
  if (input !== undefined && filtersLines(command)) return input;
  if (!listsFiles(command)) return undefined;
  const [program, start, next] = command.words;
  const isOnlyStart =
    start?.open === undefined && /^[^-(!]/.test(start?.text ?? "") && !/^[^-(!]/.test(next?.text ?? "");
  const directory = program!.text === "find" && isOnlyStart ? start!.text : ".";
  // xargs splits names at blanks, so a piece of a name may look like an option.
  return { ...listedWord(directory), lead: "", below: "lines" };
}

/**
 * Returns true for programs that print names of files below their operands. The operands themselves are judged
 * separately.
 */
function listsFiles({ words }: SimpleCommand): boolean {
  const texts = words.map(({ text }) => text);
  const [program, second] = texts;
  if (program === "find") return !texts.some((text) => /^-(printf|exec|ok|ls)/.test(text));
  if (program === "git") return second === "ls-files" || (second === "diff" && texts.includes("--name-only"));
  if (program === "rg") return texts.some((text) => /^(-[A-Za-z]*l|--files|--files-with-matches)$/.test(text));
  return program === "grep" && texts.some((text) => /^(-(?=[A-Za-z]*l)[A-Za-z]+|--files-with-matches)$/.test(text));
}

/** Returns true for programs that only pass some of the input lines through. */
function filtersLines({ words }: SimpleCommand): boolean {
  const [program, ...given] = words.map(({ text }) => text);
  const operands = given.filter((text) => !/^(-[A-Za-z\d]+|\d+)$/.test(text));
  if (/^(head|tail|sort|uniq)$/.test(program ?? "")) return operands.length === 0;
  return program === "grep" && operands.length === 1 && given.every((text) => /^(-[vivnEFwx]+|[^-].*)$/.test(text));
}
