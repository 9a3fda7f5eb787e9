/**
 * Matches characters that can hide text from people: controls, zero-width and bidirectional marks, fillers, tag
 * characters and supplementary variation selectors. Joiners and emoji selectors are matched only where they have no
 * effect, because many scripts need them.
 */
const invisible = new RegExp(
  [
    String.raw`[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]`,
    String.raw`[\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb]`,
    String.raw`[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]`,
    String.raw`(?<![^\u0000-\u02ff\u200b-\u200f])[\u200c\u200d]|[\u200c\u200d](?![^\u0000-\u02ff\u200b-\u200f])`,
    String.raw`(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]`,
  ].join("|"),
  "gu",
);

/** Removes characters that can hide text, and counts them. */
export function withoutInvisible(text: string): { readonly text: string; readonly removed: number } {
  let removed = 0;
  const clean = text.replace(invisible, (character) => {
    removed += 1;
    return character === "\u2028" || character === "\u2029" ? "\n" : "";
  });
  return { text: clean, removed };
}
