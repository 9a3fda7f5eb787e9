import type { AcceptanceResult } from "../../protocol/index.ts";

/** What is wrong with work that did not stand its check, in one sentence. */
export function unverifiedWords({ command, exitCode, verdict }: AcceptanceResult): string {
  if (verdict === "fail") return `The work is not verified: ${command} found what is wrong with it.`;
  if (verdict !== undefined) return `The work is not verified: ${command} came to no verdict.`;
  const how = exitCode === null ? "was not run" : `ended with exit code ${exitCode}`;
  return `The work is not verified: "${command}" ${how}.`;
}
