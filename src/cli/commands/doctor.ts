import { examine, type Finding, stateDirectory } from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import type { DoctorOptions } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { createOutput } from "../output.ts";
import { realDirectory } from "../real-directory.ts";

/** `retinue doctor`: what was found, and how to repair what is missing. */
export async function doctor({ json, settings, provider, model }: DoctorOptions): Promise<number> {
  const findings = await examine({
    home: stateDirectory(process.env),
    cwd: realDirectory("."),
    environment: process.env,
    ...(settings === undefined ? {} : { settingsFile: settings }),
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
  });
  const output = createOutput(process.stdout, () => undefined);
  const isHealthy = findings.every(({ status }) => status !== "fail");
  const color = output.isTerminal && !process.env["NO_COLOR"];
  const text = json ? JSON.stringify({ ok: isHealthy, findings }, null, 2) : renderFindings(findings, { color });
  await output.write(`${text}\n`);
  return isHealthy ? exitCodes.succeeded : exitCodes.failed;
}

const signs = { ok: "✓", warn: "!", fail: "✗" } as const;
const colors = { ok: 32, warn: 33, fail: 31 } as const;

function renderFindings(findings: readonly Finding[], { color }: { readonly color: boolean }): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, status, found, cure }) => {
    const sign = color ? `\u001b[${colors[status]}m${signs[status]}\u001b[39m` : signs[status];
    const line = `${sign} ${name.padEnd(width)}  ${stripControls(found)}`;
    return cure === undefined ? [line] : [line, `  ${"".padEnd(width)}  → ${stripControls(cure)}`];
  });
  const failed = findings.filter(({ status }) => status === "fail").length;
  const warned = findings.filter(({ status }) => status === "warn").length;
  return [...lines, "", summary(failed, warned)].join("\n");
}

function summary(failed: number, warned: number): string {
  if (failed > 0) return failed === 1 ? "One thing is broken." : `${failed} things are broken.`;
  return warned > 0 ? "Ready to work; see the remarks above." : "All is well.";
}
