import { stripControls } from "../../lib/index.ts";
import type { AgentColor } from "../../protocol/index.ts";

/** A line on the screen. When it is painted, it never contains line breaks or control characters. */
export type Row = readonly Span[];

export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
  /** Set if the text ends with a path. If there is no room for all of it, the file name is kept. */
  readonly isPath?: boolean | undefined;
  /**
   * Style that the user's own program or an agent's color has chosen, as parameters of an escape sequence: digits and
   * semicolons. Without colors, `style` is used instead.
   */
  readonly look?: string | undefined;
}

/** Meaning of a span's text. The theme decides how it looks. */
export type Style = keyof typeof looks;

/**
 * Styles, as parameters of the escape sequence that selects them. Only the sixteen colors that users can configure are
 * used, so that everything is readable on their background.
 */
const looks = {
  dim: "2",
  bold: "1",
  italic: "3",
  underline: "4",
  strike: "9",
  selected: "7",
  accent: "94",
  title: "1;94",
  good: "32",
  warn: "33",
  strong: "1;33",
  bad: "31",
  code: "36",
  keyword: "35",
  string: "32",
  number: "33",
  comment: "2;3",
  type: "36",
  added: "32",
  removed: "31",
} as const;

/** Agents' colors, as parameters of escape sequences. Orange is the bright red that some themes show as orange. */
const agentLooks: Readonly<Record<AgentColor, string>> = {
  red: "31",
  blue: "34",
  green: "32",
  yellow: "33",
  purple: "35",
  orange: "91",
  pink: "95",
  cyan: "36",
};

/** Returns a span in an agent's color, which can also be bold. */
export function agentSpan(text: string, color: AgentColor | undefined, style?: "bold"): Span {
  if (color === undefined || !Object.hasOwn(agentLooks, color)) return { text, style };
  const look = agentLooks[color];
  return { text, style, look: style === undefined ? look : `${looks[style]};${look}` };
}

/** Returns the escape sequence of a row. Without colors, only bold, dim and similar attributes are left. */
export type Paint = (row: Row) => string;

export function createPaint({ hasColor }: { readonly hasColor: boolean }): Paint {
  const codes = new Map<Style, string>();
  for (const [style, look] of Object.entries(looks) as [Style, string][]) {
    const kept = hasColor ? look : look.split(";").filter((code) => Number(code) < 10);
    codes.set(style, typeof kept === "string" ? kept : kept.join(";"));
  }
  return (row) => row.map(({ text, style, look }) => painted(safe(text), codeOf(style, look))).join("");

  function codeOf(style: Style | undefined, look: string | undefined): string | undefined {
    if (look !== undefined && hasColor && /^[\d;]+$/.test(look)) return look;
    return style && codes.get(style);
  }
}

function painted(text: string, code: string | undefined): string {
  return code ? `\u001b[${code}m${text}\u001b[0m` : text;
}

/**
 * Last line of defense: whatever the rest of the program does, no control character in the text reaches the terminal.
 * Skin tones are left out, because terminals disagree about the width of an emoji that has one.
 */
function safe(text: string): string {
  const plain = text.replace(skinTone, "");
  return /\p{Cc}/u.test(plain) ? stripControls(plain).replace(/[\n\t]/g, " ") : plain;
}

const skinTone = /(?<=\p{Emoji_Modifier_Base}\ufe0f?)\p{Emoji_Modifier}/gu;

export function span(text: string, style?: Style): Span {
  return { text, style };
}

/** Returns the text of a row without its styles. */
export function textOfRow(row: Row): string {
  return row.map(({ text }) => text).join("");
}

/** Converts a line of program output to a row. Its colors are kept, and all other control characters are removed. */
export function rowFromProgram(line: string): Row {
  const [first = "", ...others] = line.split("\u001b[");
  let look = "";
  const spans = others.map((part): Span => {
    const [whole = "", codes = "", final] = /^([\d;:<=>?]*)[ -/]*([@-~])/.exec(part) ?? [];
    if (final === "m") look = codes === "" || codes === "0" ? "" : look === "" ? codes : `${look};${codes}`;
    return { text: stripControls(part.slice(whole.length)), look: look === "" ? undefined : look };
  });
  return [{ text: stripControls(first) }, ...spans];
}
