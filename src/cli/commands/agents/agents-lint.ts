import { agentCommands, type CatalogPlace, type LintReport } from "../../../app/index.ts";
import { plural } from "../../../lib/index.ts";
import type { Command } from "../../command.ts";
import { exitCodes } from "../../exit-codes.ts";
import type { Output } from "../../output.ts";
import { renderDiagnostics } from "../diagnostics.ts";

/** `retinue agents lint`: 1 for anything worse than a notice. */
export async function lintFiles(
  { targets, json }: Extract<Command, { kind: "agents.lint" }>,
  { place, output }: { readonly place: CatalogPlace; readonly output: Output },
): Promise<number> {
  const { lintAgents } = await agentCommands();
  const report = await lintAgents(targets, place);
  await output.write(json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report));
  return report.findings.some(({ severity }) => severity !== "notice") ? exitCodes.failed : exitCodes.succeeded;
}

function renderReport({ agents, findings, off }: LintReport): string {
  const skipped = off.includes("agents of the project")
    ? " The agents of this directory were not read, since it is not trusted: add --trust, or name their directory."
    : "";
  const sum = findings.length === 0 ? "nothing found" : plural(findings.length, "finding");
  return `${renderDiagnostics(findings)}${plural(agents, "agent")}: ${sum}.${skipped}\n`;
}
