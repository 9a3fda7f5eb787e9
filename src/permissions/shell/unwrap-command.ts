import { isInnerRun, isReading } from "./programs/effects.ts";
import { effectsOfWords } from "./programs/effects-of.ts";
import { wrappers } from "./programs/wrappers.ts";
import type { ShellWord } from "./shell-word.ts";

/** The commands that a command runs. */
export interface Unwrapped {
  /** The words of each inner command. */
  readonly commands: readonly (readonly ShellWord[])[];
  /** Scripts that a shell evaluates. */
  readonly scripts: readonly string[];
  readonly at: number | undefined;
  readonly transparent: boolean;
  readonly unsafeVariables: readonly string[];
  /** True if the inner commands run in another directory. */
  readonly moves: boolean;
  readonly obscure: string | undefined;
}

/**
 * Returns the commands that a command runs. Undefined if it runs no other command, or if it is unknown how it runs one.
 * In the latter case, rules for parts of the command allow nothing.
 */
export function unwrapCommand(words: readonly ShellWord[]): Unwrapped | undefined {
  const program = words[0]!;
  // Most commands run no other command, so their arguments need not be read here.
  if (program.open !== undefined || !runners.has(program.text.slice(program.text.lastIndexOf("/") + 1)))
    return undefined;
  const effects = effectsOfWords(words);
  const runs = effects.filter(isInnerRun);
  if (runs.length === 0) return undefined;
  const others = effects.filter((effect) => !isInnerRun(effect));
  const [first] = runs;
  return {
    commands: runs.flatMap((run) => (run.words === undefined ? [] : [run.words])),
    scripts: runs.flatMap((run) => run.script ?? []),
    at: runs.length === 1 && first!.isRest === true ? first!.at : undefined,
    transparent:
      others.every((effect) => isReading(effect) || effect.kind === "variable") && !runs.some((run) => run.isHidden),
    unsafeVariables: effects.flatMap((effect) => (effect.kind === "variable" ? [effect.name] : [])),
    moves: runs.some(({ elsewhere }) => elsewhere) || others.some(({ kind }) => kind === "directory"),
    obscure: runs.find((run) => run.isHidden)?.reason,
  };
}

/** Programs whose arguments can contain another command to run. */
const runners: ReadonlySet<string> = new Set([
  ...wrappers.map(([name]) => name),
  ..."find make test [ read printf wait export declare typeset local readonly unset let getopts".split(" "),
  ..."mapfile readarray compgen complete bind".split(" "),
]);
