import type { PermissionMode, PolicyLayer, Rule } from "./permission.ts";

/** What an agent was allowed in a run, as its transcript keeps it: whoever goes on with it gets no more. */
export interface RecordedPolicy {
  readonly mode: PermissionMode;
  readonly pool: readonly string[];
  readonly rules: readonly RecordedRule[];
  /** What counted as workspace beside the workspace itself. */
  readonly directories?: readonly string[];
  readonly layers?: readonly RecordedLayer[];
  readonly unattended?: true;
}

export type RecordedRule = Omit<Rule, "file">;
export type RecordedLayer = Omit<PolicyLayer, "rules"> & { readonly rules: readonly RecordedRule[] };
