import type { Diagnostic } from "../../protocol/index.ts";

interface Loaded {
  readonly definition: { readonly file?: string | undefined };
}

interface Read<Entry> {
  readonly loaded?: Entry;
  readonly diagnostics: readonly Diagnostic[];
}

/** Keeps the last version that loaded if the file still exists but no longer loads. */
export function keepLastGood<Entry extends Loaded>(
  read: Read<Entry>,
  { file, known }: { file: string; known: readonly Entry[] | undefined },
): Read<Entry> {
  if (read.loaded || !known) return read;
  const last = known.find(({ definition }) => definition.file === file);
  const fault = read.diagnostics.find(({ severity }) => severity === "error");
  if (!last || !fault) return read;
  const note: Diagnostic = {
    severity: "warning",
    file,
    line: fault.line,
    code: "kept_last_good",
    message: "The file no longer loads, so the last version that loaded stays in use.",
    fix: "Fix the file, or delete it to remove the agent or skill.",
  };
  return { loaded: last, diagnostics: [...read.diagnostics, note] };
}
