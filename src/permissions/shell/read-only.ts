import { readOnlyGit } from "./read-only-git.ts";
import { type ProgramUse, readOptions } from "./read-only-options.ts";
import { programs, versionTellers } from "./read-only-programs.ts";
import { programOf, type SimpleCommand } from "./shell-analysis.ts";

/** A use of a program that changes nothing, with the words that are paths it reads. */
export type ReadOnlyUse = ProgramUse;

/** True for a command that changes nothing and starts nothing. Whatever the tables do not name is not read-only. */
export function isReadOnly(command: SimpleCommand): boolean {
  return readOnlyUse(command) !== undefined;
}

/** Undefined when the command is not read-only. What a wrapper runs is counted too; its paths are told apart from it. */
export function readOnlyUse(command: SimpleCommand): ReadOnlyUse | undefined {
  const { words, runs, unsafeVariables } = command;
  const [program, ...given] = words;
  if (program === undefined || program.open !== undefined || unsafeVariables.length > 0) return undefined;
  const name = programOf(command);
  // Elsewhere than in the system's own directories a name says nothing.
  if (program.text !== name && !/^\/(usr\/)?bin\/[^/]+$/.test(program.text)) return undefined;
  if (runs !== undefined) {
    if (!runs.transparent || !runs.commands.every(isReadOnly)) return undefined;
    return name === "find" ? programs.get(name)!.check!(given) : { paths: [] };
  }
  if (name === "git") return readOnlyGit(given);
  if (versionTellers.has(name) && given.length === 1 && /^(--version|-v)$/.test(given[0]!.text)) {
    return given[0]!.open === undefined && versionTellers.get(name)!.test(given[0]!.text) ? { paths: [] } : undefined;
  }
  const spec = programs.get(name);
  if (spec === undefined) return undefined;
  return spec.check === undefined ? readOptions(spec, given) : spec.check(given);
}
