import type { PermissionMode, PolicyLayer, Rule } from "./permission.ts";

/** What an agent was allowed in a run, as its transcript keeps it: whoever goes on with it gets no more. */
export interface RecordedPolicy {
  readonly mode: PermissionMode;
  readonly pool: readonly string[];
  /** With their files only where those say what the text means. */
  readonly rules: readonly Rule[];
  /** What counted as workspace beside the workspace itself. */
  readonly directories?: readonly string[] | undefined;
  readonly layers?: readonly PolicyLayer[] | undefined;
  readonly unattended?: true | undefined;
}
