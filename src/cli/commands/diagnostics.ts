import { stripControls } from "../../lib/index.ts";
import type { Diagnostic } from "../../protocol/index.ts";

/** `file:line: severity: sentence [code]`, as editors and people can follow it, with the cure below. */
export function renderDiagnostics(diagnostics: readonly Diagnostic[]): string {
  return diagnostics.map(renderDiagnostic).join("");
}

function renderDiagnostic({ file, line, severity, message, code, fix }: Diagnostic): string {
  const cure = fix === undefined ? "" : `  → ${flat(fix)}\n`;
  return `${flat(file)}:${line}: ${severity}: ${flat(message)} [${code}]\n${cure}`;
}

function flat(text: string): string {
  return stripControls(text).replace(/\s+/g, " ").trim();
}
