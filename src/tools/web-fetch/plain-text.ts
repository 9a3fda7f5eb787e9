import { backgroundOf, isHiddenElement, type ReadAttribute, resolveVariables } from "./hidden-element.ts";

/** Removes the tags and hidden elements from HTML in linear time, for pages that the Markdown converter can't handle. */
export function plainText(html: string): string {
  const pieces: string[] = [];
  let position = 0;
  while (position < html.length) {
    const open = html.indexOf("<", position);
    if (open < 0) {
      pieces.push(html.slice(position));
      break;
    }
    pieces.push(html.slice(position, open));
    position = afterTag(html, open);
    if (pieces.at(-1) !== "\n") pieces.push("\n");
  }
  return decodeEntities(pieces.join(""))
    .replace(/[ \t\r]+/g, " ")
    .replace(/ ?\n[ \n]*/g, "\n")
    .trim();
}

const withoutText = new Set(
  "script style noscript noframes template iframe svg object video audio canvas datalist".split(" "),
);
const withoutEnd = new Set("area base br col embed hr img input link meta source track wbr".split(" "));

function afterTag(html: string, open: number): number {
  if (html.startsWith("<!--", open)) return after(html, "-->", open);
  const name = tagNameAt(html, open + 1);
  const end = endOfTag(html, open);
  if (name === "") return end;
  if (withoutText.has(name)) return after(html, ">", after(html, `</${name}`, open));
  const tag = html.slice(open, Math.min(end, open + LONGEST_TAG));
  if (withoutEnd.has(name) || !mayHide.test(tag)) return end;
  const attributes = attributesIn(tag);
  const { style } = resolveVariables(attributes("style") ?? "", new Map());
  const read: ReadAttribute = (wanted) => (wanted === "style" ? style : attributes(wanted));
  return isHiddenElement(read, backgroundOf(read)) ? afterElement(html, name, end) : end;
}

const LONGEST_TAG = 4_000;
/**
 * Matches tags whose attributes must be parsed: they contain a word that is used to hide text, or an escape that may
 * stand for part of one.
 */
const mayHide =
  /hidden|display|visib|opacity|zoom|font|overflow|clip|transform|scale|rotate|filter|translate|mask|left|top|right|bottom|indent|margin|inset|color|fill|sr-only|screen-reader|[&\\]/i;

/** Returns the position after a tag. A `>` in a quoted attribute does not end the tag. */
function endOfTag(html: string, open: number): number {
  const tag = /^<(?:[^"'>]|"[^"]*"|'[^']*')*>/.exec(html.slice(open, open + LONGEST_TAG))?.[0];
  return tag === undefined ? after(html, ">", open) : open + tag.length;
}

function tagNameAt(html: string, start: number): string {
  return /^[a-z][\w-]*/i.exec(html.slice(start, start + 30))?.[0].toLowerCase() ?? "";
}

/** Reads the attributes from the text of a tag. If two attributes have the same name, the first one is used. */
function attributesIn(tag: string): ReadAttribute {
  const found = new Map<string, string>();
  for (const [, name = "", value = ""] of tag
    .slice(1, -1)
    .matchAll(/([^\s"'=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']*))?/g)) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, decodeEntities(value.replace(/^["']|["']$/g, "")));
  }
  return (name) => found.get(name);
}

/** Returns the position after the end of an element. An element without an end tag extends to the end of the page. */
function afterElement(html: string, name: string, start: number): number {
  let depth = 1;
  for (let open = html.indexOf("<", start); open !== -1; open = html.indexOf("<", open + 1)) {
    const isEnd = html[open + 1] === "/";
    if (tagNameAt(html, open + (isEnd ? 2 : 1)) !== name) continue;
    depth += isEnd ? -1 : 1;
    if (depth === 0) return after(html, ">", open);
  }
  return html.length;
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found < 0 ? html.length : found + mark.length;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function decodeEntities(text: string): string {
  return text.replace(/&(#x?[0-9a-f]{1,6}|[a-z]{2,6});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return entities[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
