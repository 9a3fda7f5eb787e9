/** A line of a diff, with its numbers in the file before and after the change, where they are known. */
export interface DiffLine {
  readonly kind: "added" | "removed" | "same" | "hunk";
  readonly text: string;
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

/** Returns the lines of a unified diff, without the lines that name the file. */
export function linesOf(diff: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [before, after] = [0, 0];
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk !== null) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      // The line numbers say where the first part begins.
      if (lines.length > 0) lines.push({ kind: "hunk", text: "⋯" });
    } else if (before > 0 || after > 0) {
      if (line.startsWith("+")) lines.push({ kind: "added", text: line.slice(1), after: after++ });
      else if (line.startsWith("-")) lines.push({ kind: "removed", text: line.slice(1), before: before++ });
      else if (!line.startsWith("\\"))
        lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
    }
  }
  return lines;
}

/** Number of line comparisons that take no noticeable time. */
const MANY = 250_000;

/**
 * Compares two versions of a text line by line. Common lines are shown once if both are short. `first` is the number of
 * the first line in the file, if it is known.
 */
export function changedLines(before: string, after: string, first?: number): readonly DiffLine[] {
  // A line break at the end is shown only if the change adds or removes it.
  const isWhole = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const [old, next] = [before, after].map((text) => {
    if (text === "") return [];
    return (isWhole ? text.slice(0, -1) : text).split("\n");
  }) as [string[], string[]];
  const kept = old.length * next.length > MANY ? [] : commonLines(old, next);
  const numberOf = (index: number): number | undefined => (first === undefined ? undefined : first + index);
  const lines: DiffLine[] = [];
  let [from, to] = [0, 0];
  const upTo = (oldEnd: number, newEnd: number): void => {
    for (; from < oldEnd; from++) lines.push({ kind: "removed", text: old[from] ?? "", before: numberOf(from) });
    for (; to < newEnd; to++) lines.push({ kind: "added", text: next[to] ?? "", after: numberOf(to) });
  };
  for (const [left, right] of kept) {
    upTo(left, right);
    lines.push({ kind: "same", text: old[left] ?? "", before: numberOf(left), after: numberOf(right) });
    from = left + 1;
    to = right + 1;
  }
  upTo(old.length, next.length);
  return lines;
}

/** Returns the positions of a longest common subsequence of lines. */
function commonLines(old: readonly string[], next: readonly string[]): readonly (readonly [number, number])[] {
  const width = next.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (left: number, right: number): number => longest[left * width + right] ?? 0;
  for (let left = old.length - 1; left >= 0; left--)
    for (let right = next.length - 1; right >= 0; right--)
      longest[left * width + right] =
        old[left] === next[right] ? at(left + 1, right + 1) + 1 : Math.max(at(left + 1, right), at(left, right + 1));
  const places: [number, number][] = [];
  for (let [left, right] = [0, 0]; left < old.length && right < next.length; ) {
    if (old[left] === next[right]) places.push([left++, right++]);
    else if (at(left + 1, right) >= at(left, right + 1)) left++;
    else right++;
  }
  return places;
}
