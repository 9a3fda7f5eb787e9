import type { ContextFile } from "./read-context-files.ts";

/** The same files give the same bytes. Undefined when there is nothing to say. */
export function contextText(files: readonly ContextFile[]): string | undefined {
  if (files.length === 0) return undefined;
  return files.map((file) => `${heading(file)}\n\n${file.text.trim()}\n`).join("\n");
}

function heading({ file, source, importedBy }: ContextFile): string {
  if (importedBy !== undefined) return `Contents of ${file} (imported by ${importedBy}):`;
  return `Contents of ${file} (${source === "user" ? "the user's own instructions" : "instructions of the project"}):`;
}
