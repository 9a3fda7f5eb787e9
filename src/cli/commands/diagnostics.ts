import { stripControls } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";

/** Renders `file:line: severity: sentence [code]`, a form that editors can follow, with the fix below. */
export function renderDiagnostics(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(renderDiagnostic).join("");
}

function renderDiagnostic({ file, line, severity, message, code, fix }: Diagnostic): string {
  const below = fix === undefined ? "" : `  → ${flatten(fix)}\n`;
  return `${flatten(file)}:${line}: ${severity}: ${flatten(message)} [${code}]\n${below}`;
}

/** Puts text of any length on one line, without control characters. */
export function flatten(text: string): string {
  return stripControls(text).replace(/\s+/g, " ").trim();
}
