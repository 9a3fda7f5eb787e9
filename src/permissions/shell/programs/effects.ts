import type { ShellWord } from "../shell-word.ts";

/**
 * One thing that a command does, as determined from its words. `at` is the index of the word that shows this effect.
 */
export type CommandEffect =
  /** Reads the contents of a file, or of everything in a directory. */
  | { readonly kind: "read"; readonly word: ShellWord; readonly at: number }
  /** Reads only names and attributes: `ls`, `stat`, `du`. */
  | { readonly kind: "list"; readonly word: ShellWord; readonly at: number }
  | { readonly kind: "write"; readonly word: ShellWord; readonly at: number }
  /** Works in another directory. */
  | { readonly kind: "directory"; readonly word: ShellWord; readonly at: number }
  | { readonly kind: "network"; readonly word: ShellWord | undefined; readonly at: number }
  | RunEffect
  /** Sets or removes a variable in the environment of the command that it runs. */
  | { readonly kind: "variable"; readonly name: string; readonly at: number }
  /** Changes something else: a branch, the clock, a variable of the shell. */
  | { readonly kind: "change"; readonly reason: string; readonly at: number }
  /**
   * Has an unknown effect. `program`: what runs, or its subcommand, is unknown. `argument`: the program is one that
   * people use to look at things, but one of its arguments is not understood. `code`: such an argument may run or write
   * something, as an awk script may.
   */
  | {
      readonly kind: "unknown";
      readonly of: "program" | "argument" | "code";
      readonly reason: string;
      readonly at: number;
    };

/** Runs another program. */
export interface RunEffect {
  readonly kind: "run";
  /**
   * The words of the command that is run, if all of them are arguments of the outer command, as in `timeout 5 make` or
   * `find -exec …`.
   */
  readonly words?: readonly ShellWord[] | undefined;
  /** A script that a shell evaluates. */
  readonly script?: string | undefined;
  /** True if the words are the last words of the outer command, unchanged. */
  readonly isRest?: boolean | undefined;
  /** True if only the shell knows what runs. */
  readonly isHidden?: boolean | undefined;
  /** True if the command runs in the directory of each file that was found. */
  readonly elsewhere?: boolean | undefined;
  readonly reason: string;
  readonly at: number;
}

export type Effects = readonly CommandEffect[];

export function unknownArgument(reason: string, at: number): CommandEffect {
  return { kind: "unknown", of: "argument", reason, at };
}

export function unknownCode(reason: string, at: number): CommandEffect {
  return { kind: "unknown", of: "code", reason, at };
}

export function unknownProgram(reason: string, at = 0): CommandEffect {
  return { kind: "unknown", of: "program", reason, at };
}

/**
 * Describes a command whose words do not show what it runs, because only the shell or the command's input determines
 * that.
 */
export function hiddenRun(reason: string, at: number): RunEffect {
  return { kind: "run", isHidden: true, reason, at };
}

/** Returns true if the outer command's words show what it runs. */
export function isInnerRun(effect: CommandEffect): effect is RunEffect {
  return (
    effect.kind === "run" && (effect.words !== undefined || effect.script !== undefined || effect.isHidden === true)
  );
}

/** Returns true if the effect changes nothing and runs nothing, and is fully understood. */
export function isReading({ kind }: CommandEffect): boolean {
  return kind === "read" || kind === "list";
}
