/** Returns true if a text consists of the parts in order, with any text between them. Never backtracks. */
export function matchParts(parts: readonly string[], text: string): boolean {
  const head = parts[0]!;
  const tail = parts.at(-1)!;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - tail.length;
}
