import type { ShellWord } from "./shell-word.ts";

/** What a command line would run, as far as its text tells. Plain data; the same text always gives the same answer. */
export interface ShellAnalysis {
  readonly text: string;
  readonly commands: readonly SimpleCommand[];
  readonly redirections: readonly Redirection[];
  /** Why it can't be known what would run (syntax that can't be read, evaluated text, a limit), in words; it may hide anything. */
  readonly obscure: string | undefined;
  /** Why it needs a look although everything that runs is known. */
  readonly caution: string | undefined;
  /** Variables of `for` with every word they stand for; a variable that is set elsewhere too is not among them. */
  readonly loopWords: ReadonlyMap<string, readonly ShellWord[]>;
  /** The command goes to another directory, so that relative paths in it lead elsewhere. */
  readonly moves: boolean;
}

export interface SimpleCommand {
  /** The first is the program. Never empty. */
  readonly words: readonly ShellWord[];
  /** Variables set for this command alone that are not known to be harmless. */
  readonly unsafeVariables: readonly string[];
  /** What it runs in turn, where its words say so: `timeout 5 make`, `bash -c '…'`, `find -exec …`. */
  readonly runs: InnerCommands | undefined;
}

export interface InnerCommands {
  readonly commands: readonly SimpleCommand[];
  /** Where among the outer words the program inside stands; undefined for a script in a string. */
  readonly at: number | undefined;
  /** It does nothing but run the commands inside, so that it is as harmless as they are. */
  readonly transparent: boolean;
}

export interface Redirection {
  readonly kind: "read" | "write";
  /** Undefined where only the shell knows the file. */
  readonly path: string | undefined;
}

/** The files that redirections open. Devices that hold nothing (`/dev/null`) are left out. */
export function redirectionsOf(analysis: ShellAnalysis): readonly Redirection[] {
  return analysis.redirections;
}

/** Every simple command in every position, wrappers before what they run. */
export function* everyCommand(commands: readonly SimpleCommand[]): Generator<SimpleCommand> {
  for (const command of commands) {
    yield command;
    if (command.runs !== undefined) yield* everyCommand(command.runs.commands);
  }
}

export function programOf(command: SimpleCommand): string {
  const { text } = command.words[0]!;
  return text.slice(text.lastIndexOf("/") + 1);
}
