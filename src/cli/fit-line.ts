/** Truncates a line to the given number of terminal columns. */
export function fitLine(text: string, columns: number): string {
  let width = 0;
  let kept = "";
  for (const character of text) {
    const next = width + widthOf(character);
    if (next > columns - 1 && displayWidth(text) > columns) return `${kept}…`;
    kept += character;
    width = next;
  }
  return kept;
}

export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

function widthOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (/^\p{Mn}$/u.test(character) || code === 0x200b || code === 0x200d) return 0;
  return isWide(code) ? 2 : 1;
}

function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  );
}
