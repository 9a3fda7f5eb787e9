import { analyseCommand } from "../analyse-command.ts";
import { type CommandUnit, programOf, type ShellAnalysis, type SimpleCommand, unitsOf } from "../shell-analysis.ts";
import { readOnlyGit } from "./git.ts";
import { type ProgramUse, readOptions } from "./options.ts";
import { programs, versionOptions } from "./programs.ts";

/**
 * Returns true for a command that changes nothing and starts nothing. Programs missing from the tables are never
 * read-only.
 */
export function isReadOnly(command: SimpleCommand): boolean {
  return readOnlyUse(command) !== undefined;
}

/**
 * Returns the paths that a read-only command reads; undefined if the command may change something. Paths of inner
 * commands are left out.
 */
export function readOnlyUse(command: SimpleCommand): ProgramUse | undefined {
  const { words, runs, unsafeVariables } = command;
  const [program, ...given] = words;
  if (program === undefined || program.open !== undefined || unsafeVariables.length > 0) return undefined;
  const name = programOf(command);
  // Outside of the system's own directories, the name of a program does not tell what it does.
  if (program.text !== name && !/^\/(usr\/)?bin\/[^/]+$/.test(program.text)) return undefined;
  if (runs !== undefined) {
    if (!runs.transparent || !runs.commands.every(isReadOnly)) return undefined;
    return name === "find" ? programs.get(name)!.check!(given) : { paths: [] };
  }
  if (name === "git") return readOnlyGit(given);
  if (versionOptions.has(name) && given.length === 1 && /^(--version|-v)$/.test(given[0]!.text)) {
    return given[0]!.open === undefined && versionOptions.get(name)!.test(given[0]!.text) ? { paths: [] } : undefined;
  }
  const spec = programs.get(name);
  if (spec === undefined) return undefined;
  return spec.check === undefined ? readOptions(spec, given) : spec.check(given);
}

/** Returns true if a command line can't change anything. It may read files anywhere. */
export function isReadOnlyLine(line: string): boolean {
  const analysis = analyseCommand(line);
  const { obscure, caution, moves } = analysis;
  if (obscure !== undefined || caution !== undefined || unknownFile(analysis) !== undefined) return false;
  if (analysis.redirections.some(({ kind }) => kind === "write")) return false;
  return unitsOf(analysis).every((unit) => whyItMayChange(unit, moves) === undefined);
}

/** Explains why the command may change something; undefined if the command is proven to be read-only. */
export function whyItMayChange({ command, wrappers }: CommandUnit, moves: boolean): string | undefined {
  const name = shown(programOf(command));
  const unsafe = [...wrappers, command].flatMap((each) => each.unsafeVariables)[0];
  if (unsafe !== undefined) return `it sets ${shown(unsafe)} for ${name}`;
  if (readOnlyUse(command) === undefined) return `this use of ${name} may change something`;
  // Another directory may contain a repository whose configuration names programs to run.
  return moves && name === "git" ? "git would run in another directory" : undefined;
}

export function unknownFile({ redirections }: ShellAnalysis): string | undefined {
  return redirections.some(({ path }) => path === undefined)
    ? "only the shell knows which file is written or read"
    : undefined;
}

function shown(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 60 ? `${plain.slice(0, 60)}…` : plain;
}
