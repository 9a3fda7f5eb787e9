import type { Access, Decision } from "../protocol/index.ts";
import { builtin, CHANGED_HOOK, type Finding } from "./finding.ts";
import { analyseCommand } from "./shell/analyse-command.ts";
import { unitsOf } from "./shell/command-units.ts";
import { isReadOnly } from "./shell/read-only.ts";
import { programOf } from "./shell/shell-analysis.ts";

/** Whether hooks of git that are new would change the decision. */
export function mindsHooks({ effect, rule }: Decision, accesses: readonly Access[]): boolean {
  return effect === "allow" && isSpecific(rule) && accesses.some(runsHooks);
}

/**
 * Who allowed `git commit` did not allow what was put into its hooks since: that asks. Where every command is allowed
 * there is nothing to protect any more.
 */
export function judgeHooks(access: Access, finding: Finding, [first]: readonly string[]): Finding | undefined {
  if (first === undefined || finding.effect !== "allow" || !isSpecific(finding.rule) || !runsHooks(access))
    return undefined;
  const reason = `git would run ${first}, which was made or changed since this session began.`;
  return builtin("insist", CHANGED_HOOK, reason);
}

function isSpecific(rule: string): boolean {
  return rule.includes("(");
}

/** Git runs the repository's hooks when it changes something; who only looks runs none. */
function runsHooks(access: Access): boolean {
  if (access.kind !== "command") return false;
  const units = unitsOf(analyseCommand(access.command));
  return units.some(({ command }) => programOf(command) === "git" && !isReadOnly(command));
}
