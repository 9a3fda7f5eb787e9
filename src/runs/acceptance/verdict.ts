import type { RunEnd, Verdict } from "../../protocol/index.ts";

type Report = Pick<RunEnd, "outcome" | "text" | "facts">;

/**
 * Returns the last verdict in a verifier's report, or `inconclusive` if the verifier ran no command or did not finish.
 */
export function verdictOf({ outcome, text, facts }: Report): Verdict {
  if (outcome !== "succeeded" || facts.commands.length === 0) return "inconclusive";
  return claimIn(text)?.verdict ?? "inconclusive";
}

/**
 * Returns a verifier's report for the agent that started the verifier. An unsupported verdict is replaced by
 * `inconclusive` and the reason.
 */
export function judgedReport(report: Report): string {
  const { outcome, text } = report;
  const claim = claimIn(text);
  if (claim === undefined) {
    const missing = "VERDICT: inconclusive (the report has no verdict)";
    return outcome === "succeeded" ? `${text.trimEnd()}\n${missing}` : text;
  }
  if (claim.verdict === verdictOf(report)) return text;
  const why = outcome === "succeeded" ? "it ran no command" : "its run did not finish";
  const judged = `VERDICT: inconclusive (it reported ${claim.verdict}, but ${why})`;
  return text.slice(0, claim.from) + judged + text.slice(claim.to);
}

interface Claim {
  readonly verdict: Verdict;
  /** Offset of the verdict line in the text. */
  readonly from: number;
  readonly to: number;
}

function claimIn(text: string): Claim | undefined {
  const last = [...text.matchAll(/(?<![^\n])[^\w\n]*VERDICT\W+(pass|fail|inconclusive)[^\w\n]*(?![^\n])/gi)].at(-1);
  const verdict = last?.[1]?.toLowerCase() as Verdict | undefined;
  return last && verdict && { verdict, from: last.index, to: last.index + last[0].length };
}
