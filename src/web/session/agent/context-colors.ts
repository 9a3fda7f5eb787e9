/** Number of colors for parts of a context window. */
export const COLORS = 7;

/** Returns a color for each part. A part has the color of its kind, unless a larger part has taken it. */
export function contextColors(names: readonly string[]): readonly number[] {
  const wanted = names.map((name) => kinds.findIndex((words) => words.some((word) => name.includes(word))));
  const taken = new Set<number>();
  const first = wanted.map((color) => {
    if (color === -1 || taken.has(color)) return undefined;
    taken.add(color);
    return color;
  });
  return first.map((color) => {
    if (color !== undefined) return color;
    const free = Array.from({ length: COLORS }, (_, index) => index).find((index) => !taken.has(index)) ?? COLORS;
    taken.add(free);
    return free;
  });
}

/** Words in the names of parts, one list for each color. */
const kinds: readonly (readonly string[])[] = [
  ["tools"],
  ["system"],
  ["results of"],
  ["tool calls"],
  ["notes"],
  ["prompt", "message"],
  ["answer", "response"],
];
