import { hashBytes } from "../../lib/index.ts";
import type { FileFailure, FileStat, ResultStore, ToolContext, Workspace } from "../../ports/index.ts";
import type { FileImage } from "../../protocol/index.ts";

export interface Replacement {
  /** Real path of the file. */
  readonly real: string;
  readonly bytes: Uint8Array;
  /** Version that the agent has seen, or `missing` for a new file. */
  readonly expect: string | undefined;
}

export interface ReplacingParts {
  readonly workspace: Workspace;
  readonly results: ResultStore;
  readonly context: ToolContext;
}

/** Writes a file, and keeps its previous content in the session, so that the user can restore it. */
export async function replaceFile(
  { real, bytes, expect }: Replacement,
  { workspace, results, context }: ReplacingParts,
): Promise<{ readonly ok: true; readonly stat: FileStat; readonly image: FileImage } | FileFailure> {
  // If the file changes after its content was saved, it no longer has the expected version, so nothing is written.
  const before =
    expect === "missing"
      ? null
      : await results.saveFile(`image_${context.callId}`, real, { whole: true }).catch(() => undefined);
  const written = await workspace.write(real, bytes, { expect });
  if (!written.ok) return written;
  return { ...written, image: { path: real, before, after: hashBytes(bytes) } };
}
