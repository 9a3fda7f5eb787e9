export interface StripOptions {
  /**
   * Shows control characters as `\x1b` or `\u202e` instead of removing them, so that users see exactly what they
   * approve.
   */
  visible?: boolean;
}

/**
 * Makes untrusted text safe for a terminal: removes escape sequences, bidirectional overrides and all control
 * characters except newline and tab.
 */
export function stripControls(text: string, { visible = false }: StripOptions = {}): string {
  if (!suspicious.test(text)) return text;
  const lines = text.replaceAll("\r\n", "\n");
  if (visible) return lines.replace(shownEscaped, escapeCharacter);
  return lines.replace(escapeSequences, "").replace(controls, "");
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = bytes / 1024;
  let unit = 0;
  // From 999.95 on, rounding would give four digits before the decimal point.
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(value >= 99.95 ? 0 : 1)} ${units[unit]}`;
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = Math.round(milliseconds / 1000);
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${twoDigits(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`;
}

/** Returns `1 line` for `plural(1, "line")` and `1,234 lines` for `plural(1234, "line")`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Groups digits by three. `toLocaleString` depends on the machine's locale and loads its tables on first use. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

const suspicious = /[^\t\n\u0020-\u007e\u00a0-\u0600\u4e00-\u9fff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// Zero-width and tag characters can hide text from the user who approves it, but many scripts and emoji need them.
const shownEscaped =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

// Matches, in this order: control sequences (colors, cursor); operating system commands (title, clipboard, links);
// device and application strings; two-character escapes, including the start of a longer sequence that is not
// terminated.
const escapeSequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are matched
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|(?:\u001b[PX^_]|[\u0090\u0098\u009e\u009f])[^\u001b\u009c]*(?:\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g;

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/**
 * Shows text on one line in such a way that different strings never look the same, so that a person approves exactly this
 * text. Line breaks become `↵`, tabs `⇥`, and spaces that could be overlooked `␠`. Control characters, invisible
 * characters, those that change the direction of writing and those that resemble others become escapes such as
 * `\u{202e}`. If the text itself contains one of these symbols, the symbol is escaped too.
 */
export function showExactly(text: string): string {
  const misleading = misleadingOffsets(text);
  return text.replace(noteworthy, (found, offset: number) => {
    if (found.startsWith(" ")) return showBlanks(found, { text, offset });
    if (/[^\p{ASCII}]/u.test(found) && !isUnclear(found) && !misleading.has(offset)) return found;
    return signs.get(found) ?? `\\u{${found.codePointAt(0)?.toString(16)}}`;
  });
}

/** Reverses `showExactly`. */
export function readExactly(shown: string): string {
  return shown.replace(/[↵⇥␠]|\\u\{([0-9a-f]{1,6})\}/g, (found, code?: string) => {
    if (code === undefined) return found === "↵" ? "\n" : found === "⇥" ? "\t" : " ";
    const point = Number.parseInt(code, 16);
    return point > 0x10ffff ? found : String.fromCodePoint(point);
  });
}

/** Matches blanks, the start of an escape, control characters, and everything else that needs a closer look. */
const noteworthy = / +|\\(?=u\{)|\p{Cc}|[^\p{ASCII}]/gu;

/**
 * Returns true for characters that are invisible, that the output uses as symbols, or that always resemble others.
 */
function isUnclear(character: string): boolean {
  if (unseen.test(character) || lookalikes.test(character) || character.normalize("NFC") !== character) return true;
  return /^[!-~]$/.test(character.normalize("NFKC"));
}

const unseen = /[↵⇥␠\u2800]|[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Matches punctuation that resembles ASCII, phonetic letters, rare scripts with Latin shapes, and parts of Korean
 * syllables.
 */
const lookalikes =
  /[´ǀǃʹ-˟։׃‐-–‘-‟‹›⁃⁄∕∖∗−∣∶∼꞉]|[\u0250-\u02af\u1d00-\u1dbf\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]|[\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Canadian_Aboriginal}\p{Script=Coptic}\p{Script=Deseret}\p{Script=Osage}]/u;

/**
 * Finds characters that are misleading only in their context: combining marks, and letters that pass for Latin ones.
 */
function misleadingOffsets(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  const add = (part: string, at: number, which: RegExp) => {
    for (const each of part.matchAll(which)) found.add(at + each.index);
  };
  for (const { 0: group, index } of text.matchAll(/\P{M}?\p{M}+/gu)) {
    // Marks in other scripts, such as Devanagari and Thai, are left alone, because these scripts need them.
    if (composed.test(group) || group.normalize("NFC") !== group) add(group, index, /\p{M}/gu);
  }
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{M}]+/gu)) {
    if (/\p{Script=Latin}/u.test(word) || latinShapes.test(word)) add(word, index, confusable);
  }
  return found;
}

/** Matches letters of scripts that have a separate character for each accented letter, and marks without a letter. */
const composed = /^[\p{M}\p{Script=Common}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u;
const confusable = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/gu;
/** Matches words of Cyrillic, Greek or Armenian letters that could all be Latin ones. */
const latinShapes = /^[асеорхукіјѕһԁԛԝѵӏьАВЕКМНОРСТУХІЈЅԌӀЬαιοκνρυχγτωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսհոցզգԼՏՕՍ]+$/u;

const signs: ReadonlyMap<string, string> = new Map([
  ["\n", "↵"],
  ["\t", "⇥"],
]);

/** Number of consecutive spaces that could push the text after them out of view. */
const MANY_BLANKS = 16;

function showBlanks(blanks: string, { text, offset }: { readonly text: string; readonly offset: number }): string {
  const next = text[offset + blanks.length];
  const isAtEdge = offset === 0 || next === undefined || next === "\n";
  return isAtEdge || blanks.length >= MANY_BLANKS ? "␠".repeat(blanks.length) : blanks;
}
