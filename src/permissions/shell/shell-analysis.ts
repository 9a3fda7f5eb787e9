import type { ShellWord } from "./shell-word.ts";

/**
 * Commands and redirections in a command line, as determined from its text. The same text always produces the same
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
  /**
   * Variables of `for` loops, with all the values they take. Variables that are also set elsewhere are not included.
   */
  readonly loopWords: ReadonlyMap<string, readonly ShellWord[]>;
  /** True if the line changes the working directory, so that its relative paths may not start at the workspace. */
  readonly moves: boolean;
  /** Assignments that may affect programs that run later: `EDITOR=…; git commit`. */
  readonly settings: readonly string[];
}

/**
 * The directories in which a command may run, as patterns relative to the workspace; the workspace itself is "".
 * Undefined if the directories are unknown.
 */
export type Directories = readonly string[] | undefined;

export interface SimpleCommand {
  /** The first word is the program. Never empty. */
  readonly words: readonly ShellWord[];
  /** Variables that are set only for this command and may be harmful. */
  readonly unsafeVariables: readonly string[];
  /** Variables that are set only for this command, with their values if the line contains them: `PAGER=less`. */
  readonly settings?: readonly string[] | undefined;
  /**
   * The command's standard input, if the line contains it, for example in a here-document or as the words of `echo`.
   */
  readonly input?: string | undefined;
  /** True if something other than an empty device is connected to the standard input, by a redirection or a pipe. */
  readonly isFed?: boolean | undefined;
  readonly directories: Directories;
  /** Commands that this command runs, if its words name them: `timeout 5 make`, `bash -c '…'`, `find -exec …`. */
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
  /** Path of the file, relative to the workspace; undefined if only the shell can determine it. */
  readonly path: string | undefined;
  /** The path as a pattern, if the workspace must expand it. */
  readonly pattern?: string | undefined;
}

/** A command that must be allowed separately. */
export interface CommandUnit {
  readonly command: SimpleCommand;
  /** The commands that run this one and do nothing else, such as `timeout 5`, outermost first. */
  readonly wrappers: readonly SimpleCommand[];
}

/** Returns every distinct command to judge, with transparent wrappers replaced by the commands they run. */
export function unitsOf({ commands }: ShellAnalysis): readonly CommandUnit[] {
  const units = new Map<string, CommandUnit>();
  /**
   * Numbers that represent a command and its wrappers in the keys of the commands that they run, so that keys stay
   * short.
   */
  const numbers = new Map<string, number>();
  const add = (command: SimpleCommand, { wrappers, outer }: { wrappers: readonly SimpleCommand[]; outer: number }) => {
    const { runs } = command;
    const key = `${outer}\u0001${keyOf(command)}`;
    const isAlone = runs?.transparent !== true || runs.commands.length === 0;
    if ((isAlone || command.words[0]!.text.endsWith("find")) && !units.has(key)) units.set(key, { command, wrappers });
    if (runs?.transparent !== true) return;
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
    const within = { wrappers: [...wrappers, command], outer: numbers.get(key)! };
    for (const inner of runs.commands) add(inner, within);
  };
  for (const command of commands) add(command, { wrappers: [], outer: 0 });
  return [...units.values()];
}

function keyOf(command: SimpleCommand): string {
  const { words, unsafeVariables, directories = ["?"], settings = [], input = "", isFed } = command;
  const texts = words.map(({ text, open, lead }) => (open === undefined ? text : `${open} ${lead}\u0002${text}`));
  return [...directories, "", ...unsafeVariables, "", ...settings, input, isFed, ...texts].join("\u0000");
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
