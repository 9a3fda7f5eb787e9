import { createHash } from "node:crypto";
import type { Route } from "./route.ts";

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font: 14px ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } a { color: #9bf; } }
`;

/** Hash of the pages' style, for the content security policy. */
export const styleHash = `sha256-${createHash("sha256").update(style).digest("base64")}`;

/** A page of the server. */
export class Page {
  readonly html: string;

  constructor(title: string, body: string) {
    this.html = `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${escaped(title)}</title>\n<style>${style}</style>\n${body}\n</html>\n`;
  }
}

export function startPage(): Page {
  return new Page(
    "Retinue",
    '<h1>Retinue</h1>\n<p>The server is running. <a href="/docs">The routes of its API</a> are described here.</p>',
  );
}

/** Describes the routes in a table. Their schemas are in /openapi.json. */
export function docsPage(routes: readonly Route[]): Page {
  const rows = routes.map(
    ({ method, path, scope, summary }) =>
      `<tr><td><code>${method}</code></td><td><code>${escaped(path)}</code></td><td>${scope}</td><td>${escaped(summary)}</td></tr>`,
  );
  const head = "<tr><th>Method</th><th>Path</th><th>Scope</th><th>What it does</th></tr>";
  return new Page(
    "Retinue API",
    `<h1>Retinue API</h1>\n<p>Send the token in the header <code>Authorization: Bearer TOKEN</code>. <a href="/openapi.json">openapi.json</a> has the parameters, bodies and responses.</p>\n<table>\n${[head, ...rows].join("\n")}\n</table>`,
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
