/** Removes the tags from HTML in linear time, for pages that the Markdown converter can't handle. */
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

const withoutText = ["script", "style", "noscript", "template", "svg"];

function afterTag(html: string, open: number): number {
  if (html.startsWith("<!--", open)) return after(html, "-->", open);
  const name = /^<([a-z]+)/i.exec(html.slice(open, open + 12))?.[1]?.toLowerCase();
  if (name === undefined || !withoutText.includes(name)) return after(html, ">", open);
  return after(html, ">", after(html, `</${name}`, open));
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
