import type { PermissionMode, Rule } from "./permission.ts";

/** What an agent was allowed in a run, as its transcript keeps it: whoever goes on with it gets no more. */
export interface RecordedPolicy {
  readonly mode: PermissionMode;
  readonly pool: readonly string[];
  readonly rules: readonly RecordedRule[];
  /** What counted as workspace beside the workspace itself. */
  readonly directories?: readonly string[];
  /** In each of these layers a tool that is named could do only what one of its rules covers. */
  readonly limits?: readonly (readonly RecordedRule[])[];
}

export type RecordedRule = Omit<Rule, "file">;
