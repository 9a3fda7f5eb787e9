/**
 * Shows a text on one line so that a person can approve exactly this text: different texts never look the same. Line
 * breaks become `↵`, tabs `⇥`, and blanks that could be overlooked `␠`. Control characters, invisible characters and
 * those that change the direction of writing become `\u{202e}`. Where the text itself contains such a sign, that sign
 * is escaped too.
 */
export function showExactly(text: string): string {
  return text.replace(unclear, (found, offset: number) => {
    if (found.startsWith(" ")) return showBlanks(found, { text, offset });
    return signs.get(found) ?? `\\u{${found.codePointAt(0)?.toString(16)}}`;
  });
}

/** Blanks, signs that stand for something else, the start of an escape, and everything that can't be seen. */
const unclear = / +|\\(?=u\{)|[↵⇥␠\u2800]|[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;

const signs: ReadonlyMap<string, string> = new Map([
  ["\n", "↵"],
  ["\t", "⇥"],
]);

/** Number of consecutive blanks that could move what follows out of sight. */
const MANY_BLANKS = 16;

function showBlanks(blanks: string, { text, offset }: { readonly text: string; readonly offset: number }): string {
  const next = text[offset + blanks.length];
  const isAtEdge = offset === 0 || next === undefined || next === "\n";
  return isAtEdge || blanks.length >= MANY_BLANKS ? "␠".repeat(blanks.length) : blanks;
}
