import { checkRules } from "../../permissions/index.ts";
import type { Rule } from "../../protocol/index.ts";
import { loadProjectSettings, type ProjectSettingsOptions } from "../settings/project-settings.ts";

export { type CheckedRow, checkRows } from "./check-rows.ts";
export { type ExplainedCall, type ExplainRequest, explainCall } from "./explain-call.ts";

export interface RuleList {
  /** First what is denied, then what is asked about, the lines of permission files in their order, what is allowed. */
  readonly rules: readonly Rule[];
  readonly mode: string;
  readonly problems: readonly string[];
  readonly notices: readonly string[];
}

/** Every rule that counts in a place. Throws a `UserError` for settings that must be repaired first. */
export function listRules(place: ProjectSettingsOptions): RuleList {
  const { rules, settings, notices } = loadProjectSettings(place);
  const entries = (effect: Rule["effect"]) => rules.filter((rule) => rule.effect === effect && rule.form === undefined);
  const lines = rules.filter(({ form }) => form === "compact");
  return {
    rules: [...entries("deny"), ...entries("ask"), ...lines, ...entries("allow")],
    mode: settings.permissions?.defaultMode ?? "default",
    problems: checkRules(rules).map(({ message }) => message),
    notices,
  };
}
