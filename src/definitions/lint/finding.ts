import type { Diagnostic } from "../../protocol/index.ts";

/** What a rule found; the file and the severity are the same for all of them. */
export type Finding = Pick<Diagnostic, "code" | "message" | "fix">;
