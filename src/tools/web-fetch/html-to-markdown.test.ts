import { describe, expect, it } from "vitest";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { plainText } from "./plain-text.ts";

const quiet = { signal: new AbortController().signal };

describe("htmlToMarkdown", () => {
  it("keeps the article and leaves out what surrounds it", async () => {
    const paragraphs =
      "<p>The article goes on for a while, so that it can be told from the rest of the page.</p>".repeat(8);
    const html = `<html><head><title>T</title></head><body><nav><a href="/1">Menu one</a></nav><article><h2>Part</h2>${paragraphs}<pre><code>const a = 1;</code></pre></article><footer>Imprint</footer></body></html>`;
    const { title, text } = await htmlToMarkdown(html, "https://example.com/", quiet);
    expect(title).toBe("T");
    expect(text).toContain("## Part");
    expect(text).toContain("```\nconst a = 1;\n```");
    expect(text).not.toContain("Imprint");
  });

  it("takes a fragment without html or body", async () => {
    const { text } = await htmlToMarkdown("<p>Just <em>this</em></p>", "https://example.com/", quiet);
    expect(text).toBe("Just _this_");
  });

  it("keeps no link that is not http", async () => {
    const { text } = await htmlToMarkdown("<p><a href='javascript:alert(1)'>x</a></p>", "https://example.com/", quiet);
    expect(text).not.toContain("javascript");
  });

  it("gives a page that takes too long as plain text", async () => {
    const html = `${"<div>".repeat(200_000)}deep words${"</div>".repeat(200_000)}`;
    const { text } = await htmlToMarkdown(html, "https://example.com/", { ...quiet, limitMs: 500 });
    expect(text).toContain("deep words");
  });
});

/** Ways to put text into a page that its visitors do not see. */
const hiding = [
  "<p hidden>SECRET</p>",
  '<p aria-hidden="true">SECRET</p>',
  '<div style="display:none"><p>SECRET</p><div>SECRET</div></div>',
  "<div STYLE='Display : NONE !important'>SECRET</div>",
  '<div title=">" style="display:none">SECRET</div>',
  '<div style="dis&#112;lay:none">SECRET</div>',
  '<div style="d\\69 splay:none">SECRET</div>',
  '<div style="dis/**/play:none;color:red;display:none">SECRET</div>',
  '<span style="visibility:hidden">SECRET</span>',
  '<span style="visibility: collapse">SECRET</span>',
  '<span style="opacity:0">SECRET</span>',
  '<span style="opacity:0.01">SECRET</span>',
  '<span style="font-size:0">SECRET</span>',
  '<span style="font-size: 0px">SECRET</span>',
  '<span style="font-size:1px">SECRET</span>',
  '<span style="font: 0px/1 serif">SECRET</span>',
  '<span style="color:transparent">SECRET</span>',
  '<span style="color:rgba(0,0,0,0)">SECRET</span>',
  '<span style="color:#fff;background:#ffffff">SECRET</span>',
  '<span style="color:rgb(0, 0, 0);background-color:black">SECRET</span>',
  '<div style="position:absolute;left:-9999px">SECRET</div>',
  '<div style="position:fixed;top:-100em">SECRET</div>',
  '<div style="text-indent:-9999px">SECRET</div>',
  '<div style="transform:scale(0)">SECRET</div>',
  '<div style="transform: translateX(-10000px)">SECRET</div>',
  '<div style="width:0;height:0;overflow:hidden">SECRET</div>',
  '<div style="position:absolute;width:1px;height:1px;overflow:hidden">SECRET</div>',
  '<div style="clip:rect(0,0,0,0)">SECRET</div>',
  '<div style="clip-path: inset(50%)">SECRET</div>',
  '<div style="content-visibility:hidden">SECRET</div>',
  "<!-- SECRET -->",
  "<template><p>SECRET</p></template>",
  "<noscript>SECRET</noscript>",
  "<canvas>SECRET</canvas>",
  "<video>SECRET</video>",
  "<datalist><option>SECRET</option></datalist>",
  '<p hidden><img src="/a.png" alt="SECRET" title="SECRET"><a href="/" title="SECRET">x</a></p>',
];
/** Ways that only the parsed page shows. */
const hidingByContext = [
  '<img src="/a.png" width="1" height="1" alt="SECRET">',
  "<dialog>SECRET</dialog>",
  '<p style="color:white">SECRET</p>',
  '<font color="#FFFFFF">SECRET</font>',
  '<div style="background:#000"><b><i style="color:#000000">SECRET</i></b></div>',
  '<table bgcolor="navy"><tr><td style="color:navy">SECRET</td></tr></table>',
];
const seen = [
  '<p style="color:white;background:black">SEEN</p>',
  '<div style="background:#123456"><p style="color:#fff">SEEN</p></div>',
  '<p style="display:block;opacity:1;font-size:12px;left:0;margin-left:-20px">SEEN</p>',
  "<details><summary>More</summary>SEEN</details>",
  '<p aria-hidden="false">SEEN</p>',
  '<div style="overflow:hidden;width:100%;height:1em">SEEN</div>',
  '<p data-hidden="x" title="not hidden here">SEEN</p>',
  '<p style="font:12px/1.5 serif;transform:scale(0.9)">SEEN</p>',
];

describe("text that visitors do not see", () => {
  const numbered = (pieces: readonly string[]) =>
    pieces.map((html, index) => `${html.replaceAll(/SECRET|SEEN/g, `$&${index}.`)}<p>between</p>`).join("");
  const inArticle = (html: string) => {
    const plain = `<p>${"An ordinary sentence stands here. ".repeat(12)}</p>`;
    return `<article>${plain}${html}${plain}</article>`;
  };

  it.each([(html: string) => html, inArticle])("is left out (%#)", async (within) => {
    const ways = [...hiding, ...hidingByContext];
    const { text, title } = await htmlToMarkdown(within(numbered(ways)), "https://example.com/", quiet);
    const leaks = ways.filter((_, index) => `${title}${text}`.includes(`SECRET${index}.`));
    expect(leaks).toEqual([]);
    expect(text.match(/between/g)).toHaveLength(ways.length);
  });

  it.each(hiding)("is left out of plain text: %s", (html) => {
    expect(plainText(`<p>before</p>${html}<p>after</p>`)).toBe("before\nafter");
  });

  it.each([(html: string) => html, inArticle])("is not confused with what they do see (%#)", async (within) => {
    const { text } = await htmlToMarkdown(within(numbered(seen)), "https://example.com/", quiet);
    const plain = plainText(numbered(seen));
    const missing = seen.filter((_, index) => !text.includes(`SEEN${index}.`) || !plain.includes(`SEEN${index}.`));
    expect(missing).toEqual([]);
  });

  it("is not guessed where a style sheet may set the background", async () => {
    const html = '<style>.hero { background: navy }</style><div class="hero"><p style="color:white">SEEN</p></div>';
    expect((await htmlToMarkdown(html, "https://example.com/", quiet)).text).toContain("SEEN");
  });

  it("takes no more than linear time in plain text", () => {
    const many = 100_000;
    for (const piece of ["<b hidden>", "<b ", '<b "', "<b hidden></b>", "</b>", "<!--", "<svg>", "<b style='"])
      expect(plainText(`x${piece.repeat(many)}`)).toMatch(/^x/);
  });
});

describe("plainText", () => {
  it("drops tags, scripts and comments and reads entities", () => {
    expect(plainText("<p>a &lt; b</p><script>if (a < b) {}</script><!-- no --><p>c&#33;&#x21;</p>")).toBe("a < b\nc!!");
  });

  it("copes with tags that never end", () => {
    expect(plainText("text <script>never")).toBe("text");
    expect(plainText("text <b")).toBe("text");
  });
});
