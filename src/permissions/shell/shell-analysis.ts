import { fixedWord, listedWord, type ShellWord } from "./shell-word.ts";

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
    if (runs?.transparent !== true || command.words[0]!.text.endsWith("find")) {
      if (!units.has(key)) units.set(key, { command, wrappers });
    }
    if (runs?.transparent !== true) return;
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
    const within = { wrappers: [...wrappers, command], outer: numbers.get(key)! };
    for (const inner of runs.commands) add(inner, within);
  };
  for (const command of commands) add(command, { wrappers: [], outer: 0 });
  return [...units.values()];
}

function keyOf(command: SimpleCommand): string {
  const { words, unsafeVariables, directories = ["?"], settings = [], input = "" } = command;
  const texts = words.map(({ text, open, lead }) => (open === undefined ? text : `${open} ${lead}\u0002${text}`));
  return [...directories, "", ...unsafeVariables, "", ...settings, input, ...texts].join("\u0000");
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
 * of files below a directory; undefined otherwise. `input` is the same kind of word for the command's own input, if
 * known.
 */
export function listedFiles(command: SimpleCommand, input: ShellWord | undefined): ShellWord | undefined {
  const [program, ...given] = command.words;
  const filter = filters.get(program!.text);
  if (input !== undefined && filter !== undefined) return isFilter(given, filter) ? input : undefined;
  const starts = program!.text === "find" ? startsOf(given) : listingOperands(program!.text, given);
  // The operands of git may be revisions.
  const directory = starts && commonDirectory(program!.text === "git" ? [...starts, fixedWord(".")] : starts);
  // xargs splits names at whitespace, so a piece of a name may look like an option.
  return directory === undefined ? undefined : { ...listedWord(directory), lead: "", below: "lines" };
}

/** Returns the word that xargs passes on. With `-d`, xargs may split names anywhere. */
export function passedOn(words: readonly ShellWord[], input: ShellWord | undefined): ShellWord | undefined {
  if (input === undefined || !/(^|\/)xargs$/.test(words[0]!.text)) return input;
  for (let index = 1; words[index]?.text.startsWith("-"); index += 1) {
    const { text } = words[index]!;
    if (/^(-[^-]*d|--d)/.test(text)) return undefined;
    if (/^-[aEILnPs]$/.test(text)) index += 1;
  }
  return input;
}

/** Returns the directory that contains all listed files; undefined if it is unknown. */
function commonDirectory(starts: readonly ShellWord[]): string | undefined {
  const [first] = starts;
  if (starts.length === 1 && first!.open === undefined) return first!.text;
  const isBelow = ({ open, text }: ShellWord) => open !== "value" && !/^[/~]|(^|\/)\.\.(\/|$)/.test(text);
  return starts.every(isBelow) ? "." : undefined;
}

/** Returns the starting points of a find that prints only names; undefined if it prints anything else. */
function startsOf(given: readonly ShellWord[]): readonly ShellWord[] | undefined {
  if (given.some(({ text }) => /^(--|-(f?printf|f?ls|exec|ok|D|help|version))/.test(text))) return undefined;
  const from = given.findIndex(({ text }) => !/^-([HLP]|O\d)$/.test(text));
  const rest = from === -1 ? [] : given.slice(from);
  const end = rest.findIndex(({ text }) => /^[-(!,]/.test(text));
  return end === -1 ? rest : rest.slice(0, end);
}

interface Listing {
  /**
   * Options that make the program print names of files and nothing else. Matches "" if the program does so without any
   * option.
   */
  readonly lists: RegExp;
  /** Other options that affect neither the names nor the kind of output. */
  readonly options: RegExp;
  /** Options whose value is the next word. */
  readonly valued?: RegExp | undefined;
  /** True if the first operand is a pattern, unless an option specifies the pattern. */
  readonly hasPattern?: true | undefined;
}

/**
 * Programs that print names of files below their operands. The operands themselves are judged separately. Git is not
 * included, because it also prints names that exist only in the repository, and these may contain spaces.
 */
const listings: ReadonlyMap<string, Listing> = new Map<string, Listing>([
  [
    "grep",
    {
      lists: /^(-[rRiEFPGwxnvsahHI]*[lL][rRiEFPGwxnvsahHIlL]*|--files-with(-matches|out-match))$/,
      options: /^(-[rRiEFPGwxnvsahHI]+|--(include|exclude|exclude-dir)=.*|--(ignore-case|recursive|fixed-strings))$/,
      valued: /^-e$/,
      hasPattern: true,
    },
  ],
  [
    "rg",
    {
      lists: /^(-[inswxvuFSUP.]*l[inswxvuFSUP.l]*|--files|--files-with(-matches|out-match))$/,
      options: /^(-[inswxvuFSUP.]+|--(i?glob|type|type-not)=.*|--(hidden|no-ignore|ignore-case|fixed-strings))$/,
      valued: /^-[egtT]$/,
      hasPattern: true,
    },
  ],
]);

/** Returns the files and directories that a command lists; undefined if it may print anything but names of files. */
function listingOperands(program: string, given: readonly ShellWord[]): readonly ShellWord[] | undefined {
  const listing = listings.get(program);
  if (listing === undefined) return undefined;
  const { lists, options, valued, hasPattern } = listing;
  const operands: ShellWord[] = [];
  let isListing = lists.test("");
  let needsPattern = hasPattern === true;
  let isOver = false;
  for (let index = 0; index < given.length; index += 1) {
    const { text, open } = given[index]!;
    if (isOver || !/^-./.test(text)) operands.push(given[index]!);
    else if (open !== undefined) return undefined;
    else if (text === "--") isOver = true;
    else if (lists.test(text)) isListing = true;
    else if (valued?.test(text) === true) index += 1;
    else if (!options.test(text)) return undefined;
    if (!isOver && (text === "-e" || text === "--files")) needsPattern = false;
  }
  return isListing ? operands.slice(needsPattern ? 1 : 0) : undefined;
}

/**
 * Programs that pass some of their input lines through. `operands` is the number of operands if none of them is a file.
 */
const filters: ReadonlyMap<string, { readonly options: RegExp; readonly operands: number }> = new Map([
  ["head", { options: /^-(n?\d+|n -?\d+)$/, operands: 0 }],
  ["tail", { options: /^-(n?\d+|n [-+]?\d+)$/, operands: 0 }],
  ["sort", { options: /^-[bdfghinrRuV]+$/, operands: 0 }],
  ["uniq", { options: /^-[diu]+$/, operands: 0 }],
  ["grep", { options: /^-[viEFwx]+$/, operands: 1 }],
]);

function isFilter(given: readonly ShellWord[], { options, operands }: { options: RegExp; operands: number }): boolean {
  if (given.some(({ open }) => open !== undefined)) return false;
  const texts = given.map(({ text }) => text);
  // `-n 5` is one option.
  const joined = texts.flatMap((text, index) => {
    if (texts[index - 1] === "-n") return [];
    return text === "-n" ? [`-n ${texts[index + 1]}`] : [text];
  });
  const others = joined.filter((text) => !text.startsWith("-"));
  return others.length === operands && joined.every((text) => !text.startsWith("-") || options.test(text));
}
