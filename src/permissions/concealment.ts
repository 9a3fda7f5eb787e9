import { launchers } from "./command-hazards.ts";
import { matchParts } from "./command-pattern.ts";
import type { CompiledPolicy } from "./compile-policy.ts";
import { builtin, type Finding } from "./finding.ts";
import { foldCase } from "./path-pattern.ts";
import type { CommandUnit } from "./shell/command-units.ts";
import { isReadOnly } from "./shell/read-only.ts";
import { everyCommand, programOf, type ShellAnalysis, type SimpleCommand } from "./shell/shell-analysis.ts";
import type { ShellWord } from "./shell/shell-word.ts";
import { shells } from "./shell/unwrap-command.ts";

/** Where restrictions exist, a command that may hide what they name is for a person to look at. */
export function concealment(
  { analysis, units }: { analysis: ShellAnalysis; units: readonly CommandUnit[] },
  compiled: CompiledPolicy,
): Finding | undefined {
  const guarded = compiled.guardedNames.length > 0 ? guardedMention({ analysis, units }, compiled) : undefined;
  if (guarded !== undefined) return guarded;
  if (!compiled.limitsCommands) return undefined;
  const hides = analysis.obscure !== undefined || units.some(({ command }) => hidesCommand(command));
  if (!hides && !units.some(({ command }) => hidesWord(command, compiled))) return undefined;
  return builtin(
    "insist",
    "hidden command",
    "What this command would run is only known to the shell, and rules restrict what may run. Write it without variables, substitutions, eval or aliases in place of a program's name.",
  );
}

/** What would be executed is only known to the shell: `$X file`, `/bin/r?`, `source file`, `… | sh`. */
function hidesCommand(command: SimpleCommand): boolean {
  for (const each of everyCommand([command])) {
    const [program, ...given] = each.words;
    if (program!.open !== undefined || /[*?[{~]/.test(program!.text.slice(0, -1))) return true;
    const name = programOf(each);
    if (evaluators.has(name) || (shells.has(name) && each.runs === undefined)) return true;
    const unknown = given.some(({ open, lead }) => open !== undefined && !/^[^-]/.test(lead));
    if (unknown && (launchers.has(name) || finders.has(name)) && !isReadOnly(each)) return true;
  }
  return false;
}

const evaluators = new Set("source . alias hash enable bind".split(" "));
const finders = new Set(["find", "fd"]);

/** A restriction of some words of a program (`git push`) is not evaded by leaving the second word to the shell. */
function hidesWord(command: SimpleCommand, compiled: CompiledPolicy): boolean {
  const unknown = command.words.slice(1).some(({ open, lead }) => open !== undefined && lead === "");
  if (!unknown || isReadOnly(command)) return false;
  const name = programOf(command).toLowerCase();
  return restrictionsOf(compiled).some(
    ([program, ...further]) => program?.slice(program.lastIndexOf("/") + 1) === name && further.length > 0,
  );
}

function restrictionsOf(compiled: CompiledPolicy): readonly (readonly string[])[] {
  const { vetoes, asking, filed, layers } = compiled;
  const rules = [...vetoes, ...asking, ...filed, ...layers.flatMap((layer) => layer.rules)];
  return rules.flatMap(({ rule, target }) =>
    rule.effect !== "allow" && target.kind === "command" ? [target.pattern.loose] : [],
  );
}

function guardedMention(
  { analysis, units }: { analysis: ShellAnalysis; units: readonly CommandUnit[] },
  compiled: CompiledPolicy,
): Finding | undefined {
  const words = units.flatMap(({ command }) => [...everyCommand([command])].flatMap((each) => each.words));
  const text = foldCase(`${analysis.text}\n${words.map((word) => word.text).join(" ")}`).replace(/["'\\]/g, "");
  const globs = words.filter(({ open }) => open === "glob").map((word) => foldCase(word.text));
  const guarded = compiled.guardedNames.find(
    (guard) => mentions(text, guard) || globs.some((glob) => mayName(glob, guard.name)),
  );
  if (guarded !== undefined) {
    const { rule } = guarded;
    const reason = `The command mentions ${guarded.name}, which the rule \`${rule.text}\` (${rule.scope} scope) restricts.`;
    return { effect: "insist", rule: rule.text, scope: rule.scope, reason };
  }
  const [first] = compiled.guardedNames;
  const unknown = units.find(({ command }) => !talks(command) && command.words.slice(1).some(isUnknown));
  if (unknown === undefined && analysis.redirections.every(({ path }) => path !== undefined)) return undefined;
  const { rule } = first!;
  const reason = `Only the shell knows which files the command names, and the rule \`${rule.text}\` (${rule.scope} scope) restricts some. Write their names out.`;
  return { effect: "insist", rule: rule.text, scope: rule.scope, reason };
}

/** Its arguments are no files. */
function talks(command: SimpleCommand): boolean {
  return /^(echo|printf|test|\[|true|false|:|exit|return)$/.test(programOf(command)) && isReadOnly(command);
}

function isUnknown({ open, text, variables }: ShellWord): boolean {
  return open === "value" && /[$`]/.test(text) && variables?.length !== 0;
}

/** Whether file names could make one of the glob's parts the guarded name. */
function mayName(glob: string, name: string): boolean {
  return glob.split("/").some((part) => {
    if (!/[*?[{]/.test(part) || (name.startsWith(".") && /^[*?]/.test(part))) return false;
    // A bracket or brace counts as anything: more is asked about than need be.
    return matchParts(part.replace(/\[[^\]]*\]|\{[^}]*\}|\?/g, "*").split("*"), name);
  });
}

/** A whole name must end where the mention ends: `.env` is not mentioned by `.environment`. */
function mentions(text: string, { name, whole }: { readonly name: string; readonly whole: boolean }): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!whole || !/[\p{L}\p{N}_]/u.test(text[at + name.length] ?? "")) return true;
  }
  return false;
}
