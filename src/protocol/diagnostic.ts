/** What is wrong with a file somebody wrote, for the one who can mend it. */
export interface Diagnostic {
  /** `error`: the file was not loaded. `warning`: it was, but not as its author may think. `notice`: good to know. */
  readonly severity: "error" | "warning" | "notice";
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Stable, for programs: `unknown_tool`. */
  readonly code: string;
  readonly message: string;
  /** What to write instead. */
  readonly fix?: string | undefined;
}
