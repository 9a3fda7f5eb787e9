import type { ParsedScript } from "unbash";
import { programOf, type Redirection, type SimpleCommand } from "./shell-analysis.ts";

/** Tracks the working directory of a script, because relative paths after a `cd` start elsewhere. */
export interface DirectoryChanges {
  /** Called with the whole script before any of its commands. */
  begin(script: ParsedScript): void;
  observe(command: SimpleCommand, position: { readonly isFirst: boolean }): void;
  /** Marks the directory as unknown from here on. */
  loseTrack(): void;
  any(): boolean;
  /**
   * Resolves the file in `cd there && … > file` to there/file. After any other change, relative paths become undefined.
   */
  resolve(redirections: readonly Redirection[]): readonly Redirection[];
}

const changers: ReadonlySet<string> = new Set(["cd", "pushd", "popd"]);

export function createDirectoryChanges(): DirectoryChanges {
  let count = 0;
  let first: SimpleCommand | undefined;
  let startsWithChange = false;
  return {
    begin: (script) => {
      startsWithChange = isChangeThenCommands(script);
    },
    observe: (command, { isFirst }) => {
      if (!changers.has(programOf(command))) return;
      count += 1;
      // Only a change by the first command is known to apply to all the others.
      if (isFirst) first ??= command;
      if (first === undefined) count += 1;
    },
    loseTrack: () => {
      count += 2;
    },
    any: () => count > 0,
    resolve: (redirections) => {
      if (count === 0) return redirections;
      const directory = count === 1 && startsWithChange ? targetOf(first) : undefined;
      return redirections.map(({ kind, path }) => {
        if (path === undefined || path.startsWith("/")) return { kind, path };
        return { kind, path: directory === undefined ? undefined : `${directory.replace(/\/+$/, "")}/${path}` };
      });
    },
  };
}

/** Returns the directory that the command changes to; undefined unless it is one fixed word. */
function targetOf(change: SimpleCommand | undefined): string | undefined {
  const target = change?.words[1];
  if (change?.words.length !== 2 || target?.open !== undefined) return undefined;
  return target !== undefined && /^[^-]/.test(target.text) ? target.text : undefined;
}

/** Returns true for a line of the form `cd there && …`, whose other commands run in that directory or not at all. */
function isChangeThenCommands({ commands }: ParsedScript): boolean {
  const [only] = commands;
  if (commands.length !== 1 || only === undefined || only.background === true) return false;
  if (only.command.type !== "AndOr" || only.command.operators.some((operator) => operator !== "&&")) return false;
  const first = only.command.commands[0];
  return first?.type === "Command" && first.prefix.length === 0 && first.name?.text === "cd";
}
