/** Returns where the next part of the text ends: after a line, if there is one among the next `step` characters. */
export function partEnd(text: string, from: number, step: number): number {
  if (text.length - from <= step) return text.length;
  const line = text.lastIndexOf("\n", from + step - 1) + 1;
  return line > from ? line : from + step;
}
