import type { JsonObject } from "../../protocol/index.ts";

const MAX_COMPARED_CHARACTERS = 2_000_000;
const MAX_DIFF_CHARACTERS = 20_000;
/** Maximum number of differing lines. Comparing more would take too long. */
const MAX_EDIT_LENGTH = 1_000;

export interface Change {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/**
 * Describes a change for the user, with a unified diff of limited size. The diff is omitted if the contents are too
 * large or too different.
 */
export async function describeChange({ name, before, after }: Change): Promise<JsonObject> {
  if (before.length + after.length > MAX_COMPARED_CHARACTERS) return { path: name };
  // The library is loaded on the first change, because a run that only reads files does not need it.
  const { structuredPatch } = await import("diff");
  const options = { context: 3, maxEditLength: MAX_EDIT_LENGTH };
  const patch = structuredPatch(name, name, before, after, undefined, undefined, options);
  if (!patch) return { path: name };
  let diff = "";
  let added = 0;
  let removed = 0;
  for (const hunk of patch.hunks) {
    diff += `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@\n`;
    for (const line of hunk.lines) {
      if (line.startsWith("+")) added += 1;
      if (line.startsWith("-")) removed += 1;
      diff += `${line}\n`;
    }
  }
  const change = { path: name, added, removed };
  if (diff.length <= MAX_DIFF_CHARACTERS) return { ...change, diff };
  return { ...change, diff: diff.slice(0, MAX_DIFF_CHARACTERS), cut: true };
}
