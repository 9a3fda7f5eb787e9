import type { ParsedScript } from "unbash";
import { programOf, type Redirection, type SimpleCommand } from "./shell-analysis.ts";

/** Where a script stands: each command may go elsewhere, and paths after that are meant from there. */
export interface Moves {
  /** The script itself, before its commands. */
  begin(script: ParsedScript): void;
  see(command: SimpleCommand, about: { readonly isFirst: boolean }): void;
  /** From here on nobody knows. */
  lose(): void;
  any(): boolean;
  /** `cd there && … > file` is about there/file; after any other move nobody knows. */
  place(redirections: readonly Redirection[]): readonly Redirection[];
}

const movers: ReadonlySet<string> = new Set(["cd", "pushd", "popd"]);

export function createMoves(): Moves {
  let count = 0;
  let first: SimpleCommand | undefined;
  let goesThere = false;
  return {
    begin: (script) => {
      goesThere = goesFirst(script);
    },
    see: (command, { isFirst }) => {
      if (!movers.has(programOf(command))) return;
      count += 1;
      // Only the very first command can be told to decide for all the others.
      if (isFirst) first ??= command;
      if (first === undefined) count += 1;
    },
    lose: () => {
      count += 2;
    },
    any: () => count > 0,
    place: (redirections) => {
      if (count === 0) return redirections;
      const there = count === 1 && goesThere ? targetOf(first) : undefined;
      return redirections.map(({ kind, path }) => {
        if (path === undefined || path.startsWith("/")) return { kind, path };
        return { kind, path: there === undefined ? undefined : `${there.replace(/\/+$/, "")}/${path}` };
      });
    },
  };
}

/** Where it goes, when it says so in one fixed word. */
function targetOf(move: SimpleCommand | undefined): string | undefined {
  const target = move?.words[1];
  if (move?.words.length !== 2 || target?.open !== undefined) return undefined;
  return target !== undefined && /^[^-]/.test(target.text) ? target.text : undefined;
}

/** `cd there && …` and nothing else: what follows runs there, or not at all. */
function goesFirst({ commands }: ParsedScript): boolean {
  const [only] = commands;
  if (commands.length !== 1 || only === undefined || only.background === true) return false;
  if (only.command.type !== "AndOr" || only.command.operators.some((operator) => operator !== "&&")) return false;
  const first = only.command.commands[0];
  return first?.type === "Command" && first.prefix.length === 0 && first.name?.text === "cd";
}
