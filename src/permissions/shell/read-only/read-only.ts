import { analyzeCommand } from "../analyze-command.ts";
import { type CommandEffect, isInnerRun } from "../programs/effects.ts";
import { effectsOf } from "../programs/effects-of.ts";
import { type CommandUnit, programOf, type ShellAnalysis, type SimpleCommand, unitsOf } from "../shell-analysis.ts";
import type { ShellWord } from "../shell-word.ts";
import { isListed } from "./short-list.ts";

export interface ReadOnlyOptions {
  /** True if read-only commands run in the read-only profile of a sandbox. */
  readonly sandboxed?: boolean | undefined;
}

export interface ReadOnlyUse {
  /** The paths that must be inside the workspace. Text, patterns and numbers are not included. */
  readonly paths: readonly ShellWord[];
}

/**
 * Returns true for a command that changes nothing and starts nothing. In a sandbox, whose read-only profile enforces
 * that, it is enough that the program is normally used for reading. Without a sandbox, only the commands on a short list
 * are read-only, and only with options that their tables name.
 */
export function isReadOnly(command: SimpleCommand, options: ReadOnlyOptions = {}): boolean {
  return doubtAbout(command, options) === undefined;
}

/**
 * Returns the paths that a read-only command reads; undefined if the command may change something. Paths of inner
 * commands are left out. In a sandbox, paths whose contents are not read are left out, too.
 */
export function readOnlyUse(command: SimpleCommand, options: ReadOnlyOptions = {}): ReadOnlyUse | undefined {
  if (!isReadOnly(command, options)) return undefined;
  const kinds = new Set(options.sandboxed === true ? ["read", "directory"] : ["read", "list"]);
  return {
    paths: effectsOf(command).flatMap((effect) =>
      "word" in effect && kinds.has(effect.kind) ? (effect.word ?? []) : [],
    ),
  };
}

/** Returns true if a command line can't change anything, even if it reads files outside the workspace. */
export function isReadOnlyLine(line: string, options: ReadOnlyOptions = {}): boolean {
  const analysis = analyzeCommand(line);
  const { obscure, caution, moves } = analysis;
  if (obscure !== undefined || caution !== undefined || unknownFile(analysis) !== undefined) return false;
  if (analysis.redirections.some(({ kind }) => kind === "write")) return false;
  return unitsOf(analysis).every((unit) => whyItMayChange(unit, moves, options) === undefined);
}

/** Explains why the command may change something; undefined if the command is proven to be read-only. */
export function whyItMayChange(
  { command, wrappers }: CommandUnit,
  moves: boolean,
  options: ReadOnlyOptions = {},
): string | undefined {
  const name = shown(programOf(command));
  const unsafe = [...wrappers, command].find((each) => each.unsafeVariables.length > 0)?.unsafeVariables[0];
  if (unsafe !== undefined) return `it sets ${shown(unsafe)} for ${name}`;
  const doubt = doubtAbout(command, options);
  if (doubt !== undefined) return doubt;
  const [wrapper] = wrappers;
  if (wrapper !== undefined && options.sandboxed !== true) return `${shown(programOf(wrapper))} runs another program`;
  // Another directory may contain a repository whose configuration names programs to run.
  return moves && name === "git" && options.sandboxed !== true ? "git would run in another directory" : undefined;
}

export function unknownFile({ redirections }: ShellAnalysis): string | undefined {
  return redirections.some(({ path }) => path === undefined)
    ? "only the shell knows which file is written or read"
    : undefined;
}

/** Explains why a command, or a command that it runs, is not read-only. */
function doubtAbout(command: SimpleCommand, options: ReadOnlyOptions): string | undefined {
  const [unsafe] = command.unsafeVariables;
  if (unsafe !== undefined) return `it sets ${shown(unsafe)}`;
  for (const effect of effectsOf(command)) {
    const doubt = doubtAboutEffect(effect, command, options);
    if (doubt !== undefined) return doubt;
  }
  for (const inner of command.runs?.commands ?? []) {
    const doubt = doubtAbout(inner, options);
    if (doubt !== undefined) return doubt;
  }
  return options.sandboxed === true || isListed(command) ? undefined : unlisted(command);
}

function unlisted(command: SimpleCommand): string {
  const words = command.words.slice(0, programOf(command) === "git" ? 2 : 1);
  return `\`${shown(words.map(({ text }) => text).join(" "))}\` may do more than read`;
}

function doubtAboutEffect(
  effect: CommandEffect,
  command: SimpleCommand,
  { sandboxed = false }: ReadOnlyOptions,
): string | undefined {
  const name = shown(programOf(command));
  switch (effect.kind) {
    case "read":
    case "list":
    case "variable":
      return undefined;
    case "directory":
      return sandboxed ? undefined : `${name} would work in another directory`;
    case "write":
      return `${name} would write ${shown(effect.word.text)}`;
    case "network":
      return `${name} would use the network`;
    case "run":
      return sandboxed && isInnerRun(effect) && command.runs?.transparent === true ? undefined : effect.reason;
    case "change":
      return effect.reason;
    case "unknown":
      return sandboxed && effect.of !== "program" ? undefined : effect.reason;
  }
}

function shown(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 60 ? `${plain.slice(0, 60)}…` : plain;
}
