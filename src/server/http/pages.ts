import { createHash } from "node:crypto";

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font: 14px ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; }
h2 { margin-top: 2.5rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
td, th { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } a { color: #9bf; } }
`;

/** Hash of the pages' style, for the content security policy. */
export const styleHash = `sha256-${createHash("sha256").update(style).digest("base64")}`;

/** An HTML page that the server sends. */
export class Page {
  readonly html: string;

  constructor(title: string, body: string) {
    this.html = `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${escaped(title)}</title>\n<style>${style}</style>\n${body}\n</html>\n`;
  }
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
