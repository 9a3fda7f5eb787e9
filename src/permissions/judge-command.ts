import { allowsUnit, restrictsText, restrictsUnit } from "./command-pattern.ts";
import type { CompiledPolicy, CompiledRule } from "./compile-policy.ts";
import { concealment } from "./concealment.ts";
import { builtin, byVerdict, type Finding } from "./finding.ts";
import { analyseCommand } from "./shell/analyse-command.ts";
import { type CommandUnit, unitsOf } from "./shell/command-units.ts";
import { type LooseReading, looseReadings } from "./shell/loose-readings.ts";
import { readOnlyUse } from "./shell/read-only.ts";
import { programOf, type ShellAnalysis } from "./shell/shell-analysis.ts";
import { type Place, reachOf } from "./shell/word-reach.ts";
import { type Verdict, weighRules } from "./weigh-rules.ts";

/** The strictest answer over every command in the line. Files that redirections open are judged as accesses of their own. */
export function judgeCommand(toolName: string, command: string, compiled: CompiledPolicy): Finding {
  if (command.includes("\u0000")) return builtin("deny", "malformed command", "The command has a NUL character.");
  const analysis = analyseCommand(command);
  const units = unitsOf(analysis);
  const judgement = weighUnits({ toolName, analysis, units }, compiled);
  if (judgement.denied !== undefined) return byVerdict(judgement.denied, "this command");
  const doubt = judgement.doubts[0];
  if (compiled.policy.mode === "plan" && doubt !== undefined) {
    return builtin("deny", "plan", `Mode plan runs only commands that are known to change nothing: ${doubt}.`);
  }
  if (judgement.asked !== undefined) return byVerdict(judgement.asked, "this command");
  const bySession = judgement.allowed?.rule.rule.scope === "session" && judgement.open === undefined;
  const hidden = bySession ? undefined : concealment({ analysis, units }, compiled);
  if (hidden !== undefined) return hidden;
  if (judgement.open !== undefined) return builtin("open", "command", judgement.open);
  if (judgement.allowed !== undefined) return byVerdict(judgement.allowed, "this command");
  return builtin("allow", "read-only command", "The command is known to change nothing.");
}

interface Line {
  readonly toolName: string;
  readonly analysis: ShellAnalysis;
  readonly units: readonly CommandUnit[];
}

interface Judgement {
  readonly denied?: Verdict;
  readonly asked?: Verdict;
  /** A rule that allowed something; what no rule is about was read-only. */
  readonly allowed?: Verdict;
  /** Why something in it is neither allowed nor read-only. */
  readonly open?: string;
  /** Why it is not known to change nothing, whatever rules allow. */
  readonly doubts: readonly string[];
}

function weighUnits({ toolName, analysis, units }: Line, compiled: CompiledPolicy): Judgement {
  const place: Place = { roots: compiled.policy.workspaceRoots, loopWords: analysis.loopWords };
  const whole = wholeLine(toolName, analysis);
  const doubts = [analysis.obscure, analysis.caution, unknownFile(analysis)].filter((doubt) => doubt !== undefined);
  const verdicts: (Verdict | undefined)[] = [];
  const open: string[] = [];
  // What is more, or less, than the commands in it is judged by what rules say about the line.
  if (units.length === 0 || doubts.length > 0) {
    const verdict = weighRules(compiled, whole);
    if (verdict !== undefined) verdicts.push(verdict);
    if (verdict?.effect !== "allow") open.push(...doubts);
  }
  for (const unit of units) {
    const verdict = weighRules(compiled, (rule) => whole(rule) || aboutUnit(rule, { toolName, unit, place }));
    if (verdict !== undefined) verdicts.push(verdict);
    const doubt = whyNotReadOnly(unit, { place, moves: analysis.moves });
    if (doubt === undefined) continue;
    doubts.push(doubt);
    if (verdict?.effect !== "allow") open.push(doubt);
  }
  const find = (effect: Verdict["effect"]) => verdicts.find((verdict) => verdict?.effect === effect);
  const [denied, asked, allowed] = [find("deny"), find("ask"), find("allow")];
  return {
    ...(denied && { denied }),
    ...(asked && { asked }),
    ...(allowed && { allowed }),
    ...(open[0] !== undefined && {
      open: `The command is not known to change nothing (${open[0]}), and no rule allows it.`,
    }),
    doubts,
  };
}

/** Rules about the line as a whole: about the tool, letter by letter, or about more than one command at a time. */
function wholeLine(toolName: string, { text, obscure }: ShellAnalysis): (rule: CompiledRule) => boolean {
  let readings: readonly LooseReading[] | undefined;
  return ({ rule, coversTool, target }) => {
    if (!coversTool(toolName)) return false;
    if (target.kind === "whole") return true;
    if (target.kind !== "command") return false;
    const { pattern } = target;
    if (rule.effect === "allow") return pattern.line === text.trim();
    if (obscure === undefined && pattern.exact !== undefined && pattern.exact.length > 0) return false;
    readings ??= looseReadings(text);
    return restrictsText(pattern, readings);
  };
}

function aboutUnit(
  { rule, coversTool, target }: CompiledRule,
  { toolName, unit, place }: { toolName: string; unit: CommandUnit; place: Place },
): boolean {
  if (target.kind !== "command" || !coversTool(toolName)) return false;
  return rule.effect === "allow" ? allowsUnit(target.pattern, unit, place) : restrictsUnit(target.pattern, unit);
}

/** Returns true if nothing in the line can change anything, wherever the files are that it reads. */
export function isReadOnlyLine(command: string): boolean {
  const analysis = analyseCommand(command);
  const { obscure, caution, moves } = analysis;
  if (obscure !== undefined || caution !== undefined || unknownFile(analysis) !== undefined) return false;
  if (analysis.redirections.some(({ kind }) => kind === "write")) return false;
  return unitsOf(analysis).every((unit) => whyItMayChange(unit, moves) === undefined);
}

/** Built-in: what changes nothing and stays in the workspace needs no rule. */
function whyNotReadOnly(unit: CommandUnit, { place, moves }: { place: Place; moves: boolean }): string | undefined {
  const doubt = whyItMayChange(unit, moves);
  if (doubt !== undefined) return doubt;
  for (const word of readOnlyUse(unit.command)?.paths ?? []) {
    const reach = reachOf(word, place);
    if (reach !== undefined) return reach;
  }
  return undefined;
}

function whyItMayChange({ command, wrappers }: CommandUnit, moves: boolean): string | undefined {
  const name = shown(programOf(command));
  const unsafe = [...wrappers, command].flatMap((each) => each.unsafeVariables)[0];
  if (unsafe !== undefined) return `it sets ${shown(unsafe)} for ${name}`;
  if (readOnlyUse(command) === undefined) return `${name} is not known to be used for reading only here`;
  // Another directory may hold a repository of its own, with programs in its configuration.
  return moves && name === "git" ? "git would run in another directory" : undefined;
}

function unknownFile({ redirections }: ShellAnalysis): string | undefined {
  return redirections.some(({ path }) => path === undefined)
    ? "only the shell knows which file is written or read"
    : undefined;
}

function shown(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
  return plain.length > 60 ? `${plain.slice(0, 60)}…` : plain;
}
