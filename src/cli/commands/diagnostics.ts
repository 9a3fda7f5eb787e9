import { stripControls } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";

/** Renders diagnostics as `file:line: severity: sentence [code]`, which editors recognize, with the fix below. */
export function renderDiagnostics(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(renderDiagnostic).join("");
}

function renderDiagnostic({ file, line, severity, message, code, fix }: Diagnostic): string {
  const below = fix === undefined ? "" : `  → ${flatten(fix)}\n`;
  return `${flatten(file)}:${line}: ${severity}: ${flatten(message)} [${code}]\n${below}`;
}

/** Converts text of any length to one line without control characters. */
export function flatten(text: string): string {
  return stripControls(text).replace(/\s+/g, " ").trim();
}
