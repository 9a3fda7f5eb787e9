/**
 * Returns up to `max` candidates that a mistyped word most likely meant, best first. Ignores case and separators. A
 * candidate also qualifies if it starts with or contains the word, or vice versa.
 */
export function nearest(word: string, candidates: Iterable<string>, max = 1): string[] {
  const wanted = fold(word);
  if (wanted === "") return [];
  const scored: { candidate: string; score: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const score = distanceScore(wanted, fold(candidate));
    if (score !== undefined) scored.push({ candidate, score });
  }
  const offset = (candidate: string) => Math.abs(fold(candidate).length - wanted.length);
  scored.sort(
    (a, b) => a.score - b.score || offset(a.candidate) - offset(b.candidate) || (a.candidate < b.candidate ? -1 : 1),
  );
  return scored.slice(0, max).map(({ candidate }) => candidate);
}

/**
 * Returns the name that a word most likely misspells: one edit away, or two if the name has at least nine letters. This
 * is stricter than `nearest`, which also finds names that merely contain the word.
 */
export function misspelledName(word: string, names: Iterable<string>): string | undefined {
  const wanted = fold(word);
  return nearest(word, names, Number.POSITIVE_INFINITY).find((name) => {
    const folded = fold(name);
    return editDistance(wanted, folded) <= (folded.length < 9 ? 1 : 2);
  });
}

const longest = 64;

function fold(word: string): string {
  return word
    .slice(0, longest)
    .toLowerCase()
    .replace(/[\s_.-]/g, "");
}

function distanceScore(wanted: string, candidate: string): number | undefined {
  if (candidate === "") return undefined;
  const distance = editDistance(wanted, candidate);
  const length = Math.max(wanted.length, candidate.length);
  if (startsOther(wanted, candidate)) return Math.min(distance, 0.5 + distance / length);
  if (distance <= Math.max(1, Math.floor(length / 3)) && distance < Math.min(wanted.length, candidate.length))
    return distance;
  return isPartOfOther(wanted, candidate) ? 2 + distance / length : undefined;
}

function startsOther(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 2 && (a.startsWith(b) || b.startsWith(a));
}

function isPartOfOther(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 3 && (a.includes(b) || b.includes(a));
}

/** Returns the number of insertions, deletions, substitutions and swaps of adjacent characters between two words. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let best = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
