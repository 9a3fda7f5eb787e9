import type { Access, Decision } from "../../protocol/index.ts";
import { analyzeCommand } from "../shell/analyze-command.ts";
import { mayGiveContents } from "../shell/git-contents.ts";
import { isReadOnly } from "../shell/read-only/read-only.ts";
import { type CommandUnit, everyCommand, programOf, unitsOf } from "../shell/shell-analysis.ts";
import { hasGlob, pathOf } from "../shell/word-patterns.ts";
import { builtin, CHANGED_HOOK, type Finding } from "./finding.ts";

/** Returns true if the decision may depend on the programs that git would run, so that they have to be looked up. */
export function dependsOnGit({ effect, readsOnly }: Decision, accesses: readonly Access[]): boolean {
  return (
    effect === "allow" && readsOnly !== true && unitsIn(accesses).some(({ command }) => programOf(command) === "git")
  );
}

/**
 * Returns the directories in which git would run, as patterns relative to the workspace, if the line shows them. Globs
 * and `~` are not expanded.
 */
export function gitDirectories(accesses: readonly Access[]): ReadonlyMap<string, string> {
  const directories = unitsIn(accesses).flatMap(({ command }) =>
    programOf(command) === "git" ? (command.directories ?? []) : [],
  );
  return new Map(
    directories.filter((each) => !hasGlob(each) && !each.startsWith("~")).map((each) => [each, pathOf(each)]),
  );
}

/** Returns true if a git command may print or copy the contents of tracked files. */
export function mayPrintTracked(accesses: readonly Access[]): boolean {
  return [...everyCommand(unitsIn(accesses).map(({ command }) => command))].some((command) =>
    mayGiveContents(command, () => false),
  );
}

/**
 * Requires approval for a git command that only reads if the repository names programs for it and the line as a whole
 * does more than read. Otherwise, the line would run read-only, and git would run none of these programs.
 */
export function judgeGitPrograms(file: string): Finding {
  const reason = `Here, git would run programs that ${file} names. Run the git command alone, as \`git\`.`;
  return builtin("open", "git programs", reason);
}

/**
 * Requires approval for running git hooks that have changed since the session began, because a rule for `git commit`
 * was not meant to cover them. If a rule allows every command, asking would protect nothing.
 */
export function judgeHooks(access: Access, finding: Finding, [first]: readonly string[]): Finding | undefined {
  if (first === undefined || finding.effect !== "allow" || !isSpecific(finding.rule) || !runsHooks(access))
    return undefined;
  const reason = `git would run ${first}, which was created or changed after this session began.`;
  return builtin("insist", CHANGED_HOOK, reason);
}

function isSpecific(rule: string): boolean {
  return rule.includes("(");
}

function unitsIn(accesses: readonly Access[]): readonly CommandUnit[] {
  return accesses.flatMap((access) => (access.kind === "command" ? unitsOf(analyzeCommand(access.command)) : []));
}

/** Returns true for git commands that may change something, because only these commands run hooks. */
function runsHooks(access: Access): boolean {
  return unitsIn([access]).some(({ command }) => programOf(command) === "git" && !isReadOnly(command));
}
