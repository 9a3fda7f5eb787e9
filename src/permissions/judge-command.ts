import { allowsCommand, type CommandReading, readCommand, restrictsCommand } from "./command-pattern.ts";
import type { CompiledPolicy, CompiledRule } from "./compile-policy.ts";
import { builtin, byVerdict, type Finding } from "./finding.ts";
import { foldCase } from "./path-pattern.ts";
import { isReadOnlyCommand } from "./read-only-command.ts";
import { hasHiddenCommand, simpleWords } from "./shell-words.ts";
import { weighRules } from "./weigh-rules.ts";

export function judgeCommand(toolName: string, command: string, compiled: CompiledPolicy): Finding {
  if (command.includes("\u0000")) return builtin("deny", "malformed command", "The command has a NUL character.");
  const words = simpleWords(command);
  const restricted = createRestrictionTest(toolName, command);
  const call = { toolName, words, roots: compiled.policy.workspaceRoots };
  const verdict = weighRules(compiled, (rule) =>
    rule.rule.effect === "allow" ? allows(rule, call) : restricted(rule),
  );
  if (verdict?.effect === "deny") return byVerdict(verdict, "this command");
  const readOnly = words !== undefined && isReadOnlyCommand(words);
  if (compiled.policy.mode === "plan" && !readOnly) {
    return builtin(
      "deny",
      "plan",
      "Mode plan runs only commands that are known to change nothing (git log, git show --stat, git status, git ls-files).",
    );
  }
  if (verdict?.effect === "ask") return byVerdict(verdict, "this command");
  const hidden = verdict?.rule.rule.scope === "session" ? undefined : concealment(command, compiled);
  if (hidden !== undefined) return hidden;
  if (verdict !== undefined) return byVerdict(verdict, "this command");
  if (readOnly) return builtin("allow", "read-only command", "The command is known to change nothing.");
  const why =
    words === undefined ? "it is not one simple command, which is all that rules can allow" : "no rule allows it";
  return builtin("open", "command", `The command is not known to change nothing, and ${why}.`);
}

function createRestrictionTest(toolName: string, command: string): (rule: CompiledRule) => boolean {
  let readings: CommandReading | undefined;
  return ({ coversTool, target }) => {
    if (!coversTool(toolName)) return false;
    if (target.kind === "whole") return true;
    if (target.kind !== "command") return false;
    readings ??= readCommand(command);
    return restrictsCommand(target.pattern, readings);
  };
}

function allows(
  { coversTool, target }: CompiledRule,
  call: { readonly toolName: string; readonly words: readonly string[] | undefined; readonly roots: readonly string[] },
): boolean {
  if (!coversTool(call.toolName)) return false;
  if (target.kind === "whole") return true;
  return target.kind === "command" && call.words !== undefined && allowsCommand(target.pattern, call.words, call.roots);
}

/** Where restrictions exist, a command that may hide what they name is for a person to look at. */
function concealment(command: string, compiled: CompiledPolicy): Finding | undefined {
  if (compiled.guardedNames.length > 0) {
    const text = foldCase(command).replace(/["'\\]/g, "");
    const guarded = compiled.guardedNames.find((guard) => mentions(text, guard));
    if (guarded !== undefined) {
      const { rule } = guarded;
      const reason = `The command mentions ${guarded.name}, which the rule \`${rule.text}\` (${rule.scope} scope) restricts.`;
      return { effect: "insist", rule: rule.text, scope: rule.scope, reason };
    }
  }
  if (!compiled.limitsCommands || !hasHiddenCommand(command)) return undefined;
  return builtin(
    "insist",
    "hidden command",
    "What this command would run is only known to the shell, and rules restrict what may run. Write it without variables, substitutions, eval or aliases in place of a program's name.",
  );
}

/** A whole name must end where the mention ends: `.env` is not mentioned by `.environment`. */
function mentions(text: string, { name, whole }: { readonly name: string; readonly whole: boolean }): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!whole || !/[\p{L}\p{N}_]/u.test(text[at + name.length] ?? "")) return true;
  }
  return false;
}
