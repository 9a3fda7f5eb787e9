import type { SimpleCommand } from "../shell-analysis.ts";
import type { ShellWord } from "../shell-word.ts";
import { builtins } from "./builtins.ts";
import { type Effects, unknownArgument, unknownProgram } from "./effects.ts";
import { fileTools } from "./file-tools.ts";
import { git } from "./git.ts";
import { languages, printsVersion, sandboxedVersions } from "./languages.ts";
import type { ProgramSpec } from "./model.ts";
import { readArguments } from "./read-arguments.ts";
import { systemTools } from "./system-tools.ts";
import { textTools } from "./text-tools.ts";
import { wrappers } from "./wrappers.ts";

/** Returns what a command does, as determined from its words. The effects of commands that it runs are not included. */
export function effectsOf(command: SimpleCommand): Effects {
  return effectsOfWords(command.words);
}

export function effectsOfWords(words: readonly ShellWord[]): Effects {
  let effects = known.get(words);
  if (effects === undefined) {
    effects = readEffects(words);
    known.set(words, effects);
  }
  return effects;
}

const known = new WeakMap<readonly ShellWord[], Effects>();

function readEffects(words: readonly ShellWord[]): Effects {
  const program = words[0]!;
  if (program.open !== undefined) return [unknownProgram("only the shell knows which program runs")];
  const name = program.text.slice(program.text.lastIndexOf("/") + 1);
  const spec = programs.get(name);
  const version = versionQuestion(name, words);
  if (version !== undefined) return [...version, ...elsewhere(program.text, name)];
  if (spec === undefined) return [unknownProgram(`this use of ${shown(name)} may change something`)];
  const effects = spec.read?.(words) ?? readArguments(spec, words, { from: 1, name });
  return [...effects, ...elsewhere(program.text, name)];
}

/** Returns the effects of a command that only asks a program for its version; undefined for any other command. */
export function versionQuestion(name: string, words: readonly ShellWord[]): Effects | undefined {
  const [, option] = words;
  if (words.length !== 2 || option?.open !== undefined) return undefined;
  const text = option?.text ?? "";
  if (printsVersion.has(name) && text === "--version") return [];
  if (!sandboxedVersions.has(name) || !/^(--version|-version|-V|-v|version)$/.test(text)) return undefined;
  return [unknownArgument(`the project may determine which version of ${name} runs`, 0)];
}

/** Outside the system's own directories, a program's name does not show what it does. */
function elsewhere(path: string, name: string): Effects {
  if (path === name) return [];
  // For read-only commands, the first `git` in PATH is one that runs no programs from the repository.
  if (/^\/(usr\/)?bin\/git$/.test(path))
    return [unknownArgument(`${path} can run programs that the repository names`, 0)];
  if (/^\/(usr\/)?bin\/[^/]+$/.test(path)) return [];
  return [unknownProgram(`${shown(path)} could be any program`)];
}

function shown(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 60 ? `${plain.slice(0, 60)}…` : plain;
}

/** Every program whose arguments are known, by name. */
export const programs: ReadonlyMap<string, ProgramSpec> = new Map<string, ProgramSpec>([
  ...textTools,
  ...fileTools,
  ...systemTools,
  ...languages,
  ...wrappers,
  ...builtins,
  ["git", git],
]);
