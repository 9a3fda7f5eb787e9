import { nearest } from "../../lib/index.ts";

interface NamedEntry {
  readonly name: string;
  readonly description: string;
}

/** Returns the most similar names, best first, followed by others until there are `max` names. */
export function nearestEntries(
  name: string,
  { entries, max }: { readonly entries: readonly NamedEntry[]; readonly max: number },
): readonly string[] {
  const names = entries.map((entry) => entry.name);
  const found = new Set(nearest(name, names, max));
  for (const candidate of byDescription(name, entries)) found.add(candidate);
  for (const candidate of names) found.add(candidate);
  return [...found].slice(0, max);
}

/** Ranks entries by how many words of a vague name, such as `sql-thing`, occur in their name or description. */
function byDescription(name: string, entries: readonly NamedEntry[]): string[] {
  const words = wordsOf(name);
  const scored = entries.map((entry) => {
    const text = `${entry.name} ${entry.description}`.toLowerCase();
    return { name: entry.name, score: words.filter((word) => text.includes(word)).length };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .map((one) => one.name);
}

function wordsOf(name: string): string[] {
  const split = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return split.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length >= 3);
}
