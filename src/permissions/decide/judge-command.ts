import { isWithin, matchParts } from "../../lib/index.ts";
import { type ArgumentContext, launchers } from "../rules/command-hazards.ts";
import {
  allowsUnit,
  restrictsText,
  restrictsUnit,
  type SearchableUnit,
  searchableUnit,
} from "../rules/command-pattern.ts";
import type { CompiledPolicy, CompiledRule } from "../rules/compile-policy.ts";
import type { GitRepositories } from "../rules/git-hazards.ts";
import { foldCase } from "../rules/path-pattern.ts";
import { type Verdict, weighRules } from "../rules/weigh-rules.ts";
import { analyzeCommand } from "../shell/analyze-command.ts";
import { operandsOf, readKey, readsOf } from "../shell/command-reads.ts";
import { mayBeAlias, mayGiveContents } from "../shell/git-contents.ts";
import { type LooseReading, looseReadings } from "../shell/loose-readings.ts";
import { shells } from "../shell/programs/wrappers.ts";
import { isReadOnly, unknownFile, whyItMayChange } from "../shell/read-only/read-only.ts";
import { hidesPrograms } from "../shell/safe-variables.ts";
import {
  type CommandUnit,
  everyCommand,
  programOf,
  type ShellAnalysis,
  type SimpleCommand,
  unitsOf,
} from "../shell/shell-analysis.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { writesUnnamed } from "./created-paths.ts";
import {
  builtin,
  byVerdict,
  type Finding,
  HARD_LINK,
  HIDDEN_COMMAND,
  originName,
  READ_ONLY_COMMAND,
  TRACKED_FILES,
  WRITE_IN_WORKSPACE,
} from "./finding.ts";
import { deniedPlaces, restrictedWrites } from "./judge-path.ts";

/** Findings about the files that commands read, by `readKey`. */
export type CommandReadFindings = Map<string, readonly Finding[]>;

interface CommandContext {
  readonly compiled: CompiledPolicy;
  readonly reads: CommandReadFindings;
  /** Paths in the commands that refer to files rather than directories. */
  readonly files: ReadonlySet<string>;
  /** True if a read-only command runs in the read-only profile of a sandbox. */
  readonly sandboxed: boolean | undefined;
  /** True if git may track a file that must not be read. */
  readonly tracksHidden?: boolean | undefined;
  readonly repositories?: GitRepositories | undefined;
}

/** Returns the strictest finding on any command on the line. Files that redirections open are separate accesses. */
export function judgeCommand(toolName: string, command: string, context: CommandContext): Finding {
  if (command.includes("\u0000")) return builtin("deny", "malformed command", "The command contains a NUL character.");
  const { compiled } = context;
  const analysis = analyzeCommand(command);
  const line: CommandLine = { ...context, toolName, analysis, units: unitsOf(analysis) };
  const judgment = weighUnits(line, compiled);
  if (judgment.denied !== undefined) return byVerdict(judgment.denied, "this command");
  const doubt = judgment.doubts[0];
  if (compiled.policy.mode === "plan" && doubt !== undefined) {
    return builtin("deny", "plan", `In plan mode, only commands that are known to be read-only can run, and ${doubt}.`);
  }
  if (judgment.asked !== undefined) return byVerdict(judgment.asked, "this command");
  const bySession = judgment.allowed?.rule.rule.scope === "session" && judgment.open === undefined;
  const hidden = bySession ? undefined : judgeConcealment(line, compiled);
  if (hidden !== undefined) return { ...hidden, mayEvade: true };
  if (judgment.open !== undefined)
    return { ...builtin("open", "command", judgment.open), mayEvade: mayUseDenied(line, compiled) };
  const { allowed, readingGit } = judgment;
  // A rule must not make git run programs that it would not run without the rule. Other commands run read-only only if
  // a part of the line needs it.
  const mustOnlyRead =
    context.sandboxed ||
    compiled.policy.mode === "plan" ||
    !judgment.covered ||
    line.units.some(({ command }) => isGit(command));
  if (allowed !== undefined && !(mustOnlyRead && judgment.isHarmless))
    return { ...byVerdict(allowed, "this command"), readingGit };
  const scope = bySession ? "session" : "builtin";
  return { ...builtin("allow", READ_ONLY_COMMAND, "The command is read-only."), scope, readingGit };
}

function isGit(command: SimpleCommand): boolean {
  return programOf(command) === "git";
}

interface CommandLine extends CommandContext {
  readonly toolName: string;
  readonly analysis: ShellAnalysis;
  readonly units: readonly CommandUnit[];
}

interface Judgment {
  readonly denied: Verdict | undefined;
  readonly asked: Verdict | undefined;
  /** Rule that allowed a command. If `open` is undefined, all commands that no rule allowed are read-only. */
  readonly allowed: Verdict | undefined;
  /** True if rules allow every command on the line. */
  readonly covered: boolean;
  /** True if a git command only reads, and no rule spells it out. */
  readonly readingGit: boolean;
  /** True if every command is read-only, provided that git runs no programs that the repository names. */
  readonly isHarmless: boolean;
  /** Explains why a command is neither allowed nor read-only. */
  readonly open: string | undefined;
  /** Reasons why the line is not known to be read-only, regardless of the rules. */
  readonly doubts: readonly string[];
}

function weighUnits(line: CommandLine, compiled: CompiledPolicy): Judgment {
  const { toolName, analysis, units } = line;
  const context: ArgumentContext = {
    roots: compiled.policy.workspaceRoots,
    loopWords: analysis.loopWords,
    fileHazard: (command, word) => fileHazard(command, word, line),
    repositories: line.repositories,
  };
  const whole = wholeLine(toolName, analysis);
  const doubts = [analysis.obscure, analysis.caution, unknownFile(analysis)].filter((doubt) => doubt !== undefined);
  const verdicts: Verdict[] = [];
  const open: string[] = [];
  const judged = units.map((unit) => ({ unit, doubt: whyNotReadOnly(unit, line) }));
  const isHarmless =
    doubts.length === 0 && judged.every(({ unit, doubt }) => doubt === undefined || isHarmlessGit(unit, line));
  const skipped = new Set(
    isHarmless ? compiled.layers.flatMap(({ layer, rules }) => (layer.onlyChanges ? rules : [])) : [],
  );
  let [covered, readingGit] = [true, false];
  // A line that has no commands, or does more than run commands, is judged as a whole.
  if (units.length === 0 || doubts.length > 0) {
    const verdict = weighRules(compiled, whole);
    if (verdict !== undefined) verdicts.push(verdict);
    if (verdict?.effect !== "allow") open.push(...doubts);
  }
  for (const { unit, doubt } of judged) {
    const about = unitMatcher({ toolName, unit, context });
    const verdict = weighRules(compiled, (rule) => (whole(rule) || about(rule)) && !skipped.has(rule));
    if (verdict !== undefined) verdicts.push(verdict);
    covered &&= verdict?.effect === "allow";
    readingGit ||= isReadingGit(unit, line) && !(verdict !== undefined && spellsOut(verdict.rule));
    if (doubt === undefined) continue;
    doubts.push(doubt);
    if (verdict?.effect !== "allow") open.push(doubt);
  }
  const find = (effect: Verdict["effect"]) => verdicts.find((verdict) => verdict.effect === effect);
  return {
    denied: find("deny"),
    asked: find("ask"),
    allowed: find("allow"),
    covered,
    readingGit,
    isHarmless,
    open: open.length === 0 ? undefined : `No rule allows this command, and ${everyReason(open)}.`,
    doubts,
  };
}

/** Returns true for a rule that allows everything, or exactly one command line. */
function spellsOut({ target }: CompiledRule): boolean {
  return target.kind === "whole" || (target.kind === "command" && target.pattern.line !== undefined);
}

/** Returns true for a git command that changes nothing itself, but may run programs that the repository names. */
function isReadingGit(unit: CommandUnit, line: CommandLine): boolean {
  return isGit(unit.command) && whyNotReadOnly(unit, { ...line, sandboxed: true }) === undefined;
}

/** Returns true if the command runs Retinue's own `git`, which comes first in PATH and runs no such programs. */
function isHarmlessGit(unit: CommandUnit, line: CommandLine): boolean {
  return unit.command.words[0]!.text === "git" && isReadingGit(unit, line);
}

/** Maximum number of reasons in a message. */
const MOST_REASONS = 3;

/** Lists the reasons for all parts of a line, so that a harmless part does not hide a dangerous one. */
function everyReason(reasons: readonly string[]): string {
  const all = [...new Set(reasons)];
  const more = all.length - MOST_REASONS;
  return `${all.slice(0, MOST_REASONS).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

/** Matches rules that apply to the whole line: to the tool, to the literal line, or to several commands at once. */
function wholeLine(toolName: string, { text, obscure, settings }: ShellAnalysis): (rule: CompiledRule) => boolean {
  let readings: readonly LooseReading[] | undefined;
  let set: readonly LooseReading[] | undefined;
  return ({ rule, coversTool, target }) => {
    if (!coversTool(toolName)) return false;
    if (target.kind === "whole") return true;
    if (target.kind !== "command") return false;
    const { pattern } = target;
    if (rule.effect === "allow") return pattern.line === text.trim();
    if (settings.length > 0) {
      set ??= looseReadings(settings.join(" ; "));
      if (restrictsText(pattern, set)) return true;
    }
    if (obscure === undefined && pattern.exact !== undefined && pattern.exact.length > 0) return false;
    readings ??= looseReadings(text);
    return restrictsText(pattern, readings);
  };
}

/** Matches rules that apply to one command on the line. */
function unitMatcher({
  toolName,
  unit,
  context,
}: {
  readonly toolName: string;
  readonly unit: CommandUnit;
  readonly context: ArgumentContext;
}): (rule: CompiledRule) => boolean {
  let searchable: SearchableUnit | undefined;
  return ({ rule, coversTool, target }) => {
    if (target.kind !== "command" || !coversTool(toolName)) return false;
    if (rule.effect === "allow") return allowsUnit(target.pattern, unit, context);
    searchable ??= searchableUnit(unit);
    return restrictsUnit(target.pattern, searchable);
  };
}

/** Explains why the command needs a rule; undefined if it is read-only and reads only files that it may read. */
function whyNotReadOnly(unit: CommandUnit, line: CommandLine): string | undefined {
  const { command } = unit;
  const { sandboxed, analysis } = line;
  const isElsewhere = command.directories?.length !== 1 || command.directories[0] !== "";
  const doubt = whyItMayChange(unit, isElsewhere, { sandboxed });
  if (doubt !== undefined) return doubt;
  if (programOf(command) === "git" && unit.wrappers.some(stripsEnvironment))
    return "git would run without the settings that keep it from running programs from the repository";
  const { reads, unknown } = readsOf(command, analysis.loopWords, { sandboxed });
  const found = reads.map(({ shell }) => line.reads.get(readKey(shell)));
  // In a sandbox, the read-only profile hides files that must not be read.
  if (!sandboxed && (unknown.length > 0 || found.includes(undefined)))
    return "only the shell knows which files it would read";
  const open = found.flatMap((findings) => findings ?? []).find(({ effect }) => effect === "open");
  return open?.reason.replace(/\.$/, "");
}

/** Returns the reason why a wildcard must not cover the files that a word names; undefined if it may cover them. */
function fileHazard(command: SimpleCommand, word: ShellWord, { analysis, reads }: CommandLine): string | undefined {
  const operands = operandsOf(command, analysis.loopWords);
  const files = operands.size === 0 ? [] : operands.get(word);
  const found = files?.map(({ shell }) => reads.get(readKey(shell)));
  if (found === undefined || found.includes(undefined)) return "only the shell knows which files an argument names";
  const hazard = found
    .flatMap((findings) => findings ?? [])
    .find(({ effect, rule, scope }) => scope === "builtin" && hazards.has(effect) && rule !== WRITE_IN_WORKSPACE);
  return hazard?.reason.replace(/\.$/, "");
}

const hazards: ReadonlySet<Finding["effect"]> = new Set<Finding["effect"]>(["open", "insist"]);

/** Requires approval for a command that may change something and uses a file that a rule restricts. */
function restrictedFile({ analysis, units, reads }: CommandLine): Finding | undefined {
  const files = units.flatMap(({ command }) =>
    [...operandsOf(command, analysis.loopWords).values()].flatMap((each) => each ?? []),
  );
  const found = files.flatMap(({ shell }) => reads.get(readKey(shell)) ?? []);
  const restricted = found.find(
    ({ effect, scope, rule }) =>
      rule === HARD_LINK || (scope !== "builtin" && (effect === "deny" || effect === "insist")),
  );
  return restricted && { ...restricted, effect: "insist" };
}

/** Requires approval for commands that write files which their words do not name, if rules restrict writing some files. */
function unnamedFiles({ analysis, units, files }: CommandLine, compiled: CompiledPolicy): Finding | undefined {
  const commands = [...everyCommand(units.map(({ command }) => command))];
  if (!commands.some((command) => writesUnnamed(command, analysis, () => false))) return undefined;
  const restricted = restrictedWrites(compiled);
  if (restricted === undefined) return undefined;
  // Files that a command names are judged on their own, unless the rule is about all files.
  const isJudged = (path: string): boolean => restricted.target.kind === "path" && files.has(path);
  const writing = commands.find((command) => writesUnnamed(command, analysis, isJudged));
  if (writing === undefined) return undefined;
  const { text, scope } = restricted.rule;
  const reason = `The words of \`${startOf(writing)}\` do not name all files that it would write, and the rule \`${text}\` (${originName(scope)}) restricts writing.`;
  return { effect: "insist", rule: text, scope, reason };
}

function startOf({ words }: SimpleCommand): string {
  return words
    .slice(0, 2)
    .map(({ text }) => text.slice(0, 40))
    .join(" ");
}

/**
 * Requires approval for git commands that may print or copy a tracked file that a rule denies. A sandbox hides the
 * file, but not its contents in the repository.
 */
function trackedFiles(
  { units, files, tracksHidden }: CommandLine,
  { policy, homes }: CompiledPolicy,
): Finding | undefined {
  const commands = units.flatMap(({ command }) => [...everyCommand([command])]);
  const printing = commands.find((command) => mayGiveContents(command, (path) => files.has(path)));
  if (printing === undefined) return undefined;
  const places = deniedPlaces(policy, homes) ?? [];
  const roots = policy.workspaceRoots;
  const isDenied = places.some((place) => roots.some((root) => isWithin(place, root) || isWithin(root, place)));
  if (!isDenied && tracksHidden !== true) return undefined;
  const reason = `\`${startOf(printing)}\` could print or copy a tracked file that ${isDenied ? "a rule denies" : "may contain keys or passwords"}.`;
  return builtin("insist", TRACKED_FILES, reason);
}

/** Returns true for `env -i`, `env -u NAME` and `exec -c`, which remove variables that Retinue sets for git. */
function stripsEnvironment(wrapper: SimpleCommand): boolean {
  const option = strippingOptions.get(programOf(wrapper));
  return option !== undefined && wrapper.words.slice(1, wrapper.runs?.at).some(({ text }) => option.test(text));
}

const strippingOptions = new Map([
  ["exec", /^-[a-z]*c/],
  ["env", /^-(?!-$)/],
]);

/** Requires approval for commands that may conceal that they use something restricted by a rule. */
function judgeConcealment(line: CommandLine, compiled: CompiledPolicy): Finding | undefined {
  const { analysis, units } = line;
  const mentioned = compiled.guardedNames.length > 0 ? guardedMention(line, compiled) : undefined;
  const guarded = mentioned ?? restrictedFile(line) ?? unnamedFiles(line, compiled) ?? trackedFiles(line, compiled);
  if (guarded !== undefined) return guarded;
  if (!compiled.limitsCommands) return undefined;
  const isSpelledOut = compiled.allow.some(
    ({ target }) => target.kind === "command" && target.pattern.line === analysis.text.trim(),
  );
  const hides =
    analysis.obscure !== undefined ||
    units.some(({ command }) => hidesCommand(command)) ||
    (!isSpelledOut && settingsOf(line).some(hidesPrograms));
  if (!hides && !units.some(({ command }) => hidesWord(command, compiled))) return undefined;
  return builtin(
    "insist",
    HIDDEN_COMMAND,
    "Only the shell knows what this command would run, and rules restrict what may run.",
  );
}

/** Returns true if it is unknown which files a command uses, and rules deny some files. */
function mayUseDenied(line: CommandLine, { deniesPaths }: CompiledPolicy): boolean {
  if (!deniesPaths) return false;
  const { analysis, units, reads } = line;
  if (analysis.obscure !== undefined || [...reads.values()].flat().some(({ mayEvade }) => mayEvade)) return true;
  const vague = units.filter(({ command }) => !knowsItsFiles(command, line));
  return hasUnknownFiles(vague, analysis);
}

function hasUnknownFiles(units: readonly CommandUnit[], { redirections }: ShellAnalysis): boolean {
  const isVague = units.some(({ command }) => !takesNoFiles(command) && command.words.slice(1).some(isUnknown));
  return isVague || redirections.some(({ path }) => path === undefined);
}

/** Returns the variables that the line sets for its commands, with their values if they are known. */
function settingsOf({ analysis, units }: CommandLine): readonly string[] {
  const commands = units.flatMap(({ command, wrappers }) => [...wrappers, ...everyCommand([command])]);
  const named = commands.flatMap(({ unsafeVariables, settings = [] }) => [...unsafeVariables, ...settings]);
  const exported = commands
    .filter((command) => exporters.has(programOf(command)))
    .flatMap(({ words }) => words.slice(1).map(({ text }) => text));
  return [...analysis.settings, ...named, ...exported];
}

const exporters = new Set("export declare typeset local readonly".split(" "));

/** Returns true if only the shell can tell which program runs: `$X file`, `/bin/r?`, `source file`, `… | sh`. */
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

/**
 * Returns true if the shell or an alias could expand an argument to a word that is restricted for this program, such as
 * `push` for git.
 */
function hidesWord(command: SimpleCommand, compiled: CompiledPolicy): boolean {
  const name = programOf(command).toLowerCase();
  const unknown = command.words.slice(1).some(({ open, lead }) => open !== undefined && lead === "");
  if (!(unknown && !isReadOnly(command)) && !(name === "git" && mayBeAlias(command))) return false;
  return compiled.restrictions.some(({ target }) => {
    const [program, ...further] = target.kind === "command" ? target.pattern.loose : [];
    return program?.slice(program.lastIndexOf("/") + 1) === name && further.length > 0;
  });
}

function guardedMention(line: CommandLine, compiled: CompiledPolicy): Finding | undefined {
  const { analysis, units } = line;
  const words = units.flatMap(({ command }) => [...everyCommand([command])].flatMap((each) => each.words));
  // Rules have already been applied to every file that a known glob or loop variable names.
  const vague = units.filter(({ command }) => !knowsItsFiles(command, line));
  const vagueWords = vague.flatMap(({ command }) => [...everyCommand([command])].flatMap((each) => each.words));
  const text = foldCase(`${analysis.text}\n${words.map((word) => word.text).join(" ")}`).replace(/["'\\]/g, "");
  const globs = vagueWords.filter(({ open }) => open === "glob").map((word) => foldCase(word.text));
  const guarded = compiled.guardedNames.find(
    (guard) => mentions(text, guard) || globs.some((glob) => mayName(glob, guard.name)),
  );
  if (guarded !== undefined) {
    const { rule } = guarded;
    const reason = `The command mentions ${guarded.name}, which the rule \`${rule.text}\` (${originName(rule.scope)}) restricts.`;
    return { effect: "insist", rule: rule.text, scope: rule.scope, reason };
  }
  const [first] = compiled.guardedNames;
  if (!hasUnknownFiles(vague, analysis)) return undefined;
  const { rule } = first!;
  const reason = `Only the shell knows which files the command names, and the rule \`${rule.text}\` (${originName(rule.scope)}) restricts some files. Spell out their names.`;
  return { effect: "insist", rule: rule.text, scope: rule.scope, reason };
}

/** Returns true if the command is read-only, and each file that it reads was judged. */
function knowsItsFiles(command: SimpleCommand, { analysis, reads, sandboxed }: CommandLine): boolean {
  if (!isReadOnly(command, { sandboxed })) return false;
  // In a sandbox, the read-only profile hides files that rules restrict.
  if (sandboxed) return true;
  const found = readsOf(command, analysis.loopWords);
  return found.unknown.length === 0 && found.reads.every(({ shell }) => reads.has(readKey(shell)));
}

/** Returns true if no argument of the command names a file. */
function takesNoFiles(command: SimpleCommand): boolean {
  return /^(echo|printf|test|\[|true|false|:|exit|return)$/.test(programOf(command)) && isReadOnly(command);
}

function isUnknown({ open, text, variables }: ShellWord): boolean {
  return open === "value" && /[$`]/.test(text) && variables?.length !== 0;
}

/** Returns true if a part of the glob can match the guarded name. */
function mayName(glob: string, name: string): boolean {
  return glob.split("/").some((part) => {
    if (!/[*?[]/.test(part) || (name.startsWith(".") && /^[*?]/.test(part))) return false;
    // Treat everything from the first to the last bracket as matching anything. As a result, the user may be asked more
    // often than necessary.
    const [open, close] = [part.indexOf("["), part.lastIndexOf("]")];
    const plain = open !== -1 && close > open ? `${part.slice(0, open)}*${part.slice(close + 1)}` : part;
    return matchParts(plain.replaceAll("?", "*").split("*"), name);
  });
}

/**
 * Returns true if the text contains the name. A whole name must also end there, so `.environment` does not mention
 * `.env`.
 */
function mentions(text: string, { name, whole }: { readonly name: string; readonly whole: boolean }): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!whole || !/[\p{L}\p{N}_]/u.test(text[at + name.length] ?? "")) return true;
  }
  return false;
}
