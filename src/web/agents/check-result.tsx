import type { ReactNode } from "react";
import { formatCount, plural } from "../../lib/portable.ts";
import type { Diagnostic } from "../../protocol/index.ts";
import { Findings } from "./findings.tsx";
import { ToolSummary } from "./tool-summary.tsx";
import type { Check } from "./use-check.ts";

interface CheckResultProps {
  readonly checked: Check;
  readonly root: string;
  /** What is needed before the definition can be checked. */
  readonly needs?: string | undefined;
}

/** Shows the linter's findings for a definition that is not written yet, and the tools that the agent would get. */
export function CheckResult({ checked: { check, error, isCurrent }, root, needs }: CheckResultProps): ReactNode {
  return (
    <section className="check-result" aria-label="Check" aria-busy={!isCurrent}>
      <h3>Check</h3>
      <p role="status" className={error === undefined || needs !== undefined ? "dim" : "bad"}>
        {needs ?? error ?? (check === undefined ? "Checking…" : sumOf(check.diagnostics))}
      </p>
      {check !== undefined && error === undefined && needs === undefined && (
        <>
          <Findings diagnostics={check.diagnostics} root={root} hidesPlace />
          {check.report !== undefined && (
            <>
              <h3>Tools</h3>
              <ToolSummary report={check.report} />
              <p className="dim">
                About {formatCount(check.report.tokens.listing)} tokens in the list of every agent that can delegate,
                and {formatCount(check.report.tokens.prompt)} for its prompt.
              </p>
            </>
          )}
        </>
      )}
    </section>
  );
}

function sumOf(diagnostics: readonly Diagnostic[]): string {
  const count = (severity: Diagnostic["severity"]): number =>
    diagnostics.filter((each) => each.severity === severity).length;
  const parts = (["error", "warning", "notice"] as const)
    .map((severity) => [severity, count(severity)] as const)
    .filter(([, number]) => number > 0)
    .map(([severity, number]) => plural(number, severity));
  return parts.length === 0 ? "No problems found. The agent would load." : `${parts.join(", ")}.`;
}
