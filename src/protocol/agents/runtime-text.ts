/** Tags around all text that Retinue itself adds to user turns. No other text in a user turn contains them. */
const OPENING = "<from_retinue>\n";
const CLOSING = "\n</from_retinue>";

/** Marks text as Retinue's own. Parts that come from elsewhere, such as reports, can't close the tag. */
export function runtimeText(text: string): string {
  return `${OPENING}${withoutRuntimeTag(text)}${CLOSING}`;
}

/** Returns whether a text block of a user turn was written by Retinue. */
export function isRuntimeText(text: string): boolean {
  return text.startsWith(OPENING);
}

/**
 * Returns whether a text block was written by Retinue and begins with these words. Transcripts of earlier versions
 * contain such text in square brackets.
 */
export function runtimeTextBegins(text: string, words: string): boolean {
  return text.startsWith(`${OPENING}${words}`) || text.startsWith(`[${words}`);
}

/** Returns text that Retinue wrote, without its tag. Returns other text unchanged. */
export function withinRuntimeTag(text: string): string {
  return isRuntimeText(text) && text.endsWith(CLOSING) ? text.slice(OPENING.length, -CLOSING.length) : text;
}

/** Escapes everything in a text that a model could take for Retinue's tag. */
export function withoutRuntimeTag(text: string): string {
  return text.replace(imitation, "&lt;");
}

/** Also matches spellings with spaces, dashes, invisible characters and other angle brackets. */
const imitation =
  /[<﹤＜](?=[\s\p{C}/]*f\p{C}*r\p{C}*o\p{C}*m[\s\p{C}_-]*r\p{C}*e\p{C}*t\p{C}*i\p{C}*n\p{C}*u\p{C}*e)/giu;
