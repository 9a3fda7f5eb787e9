import { describe, expect, it } from "vitest";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import { plainText } from "./plain-text.ts";

const quiet = { signal: new AbortController().signal };

describe("htmlToMarkdown", () => {
  it("keeps the article and omits the text around it", async () => {
    const paragraphs =
      "<p>The article goes on for a while, so that it can be told from the rest of the page.</p>".repeat(8);
    const html = `<html><head><title>T</title></head><body><nav><a href="/1">Menu one</a></nav><article><h2>Part</h2>${paragraphs}<pre><code>const a = 1;</code></pre></article><footer>Imprint</footer></body></html>`;
    const { title, text } = await htmlToMarkdown(html, "https://example.com/", quiet);
    expect(title).toBe("T");
    expect(text).toContain("## Part");
    expect(text).toContain("```\nconst a = 1;\n```");
    expect(text).not.toContain("Imprint");
  });

  it("accepts a fragment without html or body", async () => {
    const { text } = await htmlToMarkdown("<p>Just <em>this</em></p>", "https://example.com/", quiet);
    expect(text).toBe("Just _this_");
  });

  it("keeps only http links", async () => {
    const { text } = await htmlToMarkdown("<p><a href='javascript:alert(1)'>x</a></p>", "https://example.com/", quiet);
    expect(text).not.toContain("javascript");
  });

  it("falls back to plain text for a page that takes too long", async () => {
    const html = `${"<div>".repeat(200_000)}deep words${"</div>".repeat(200_000)}`;
    const { text } = await htmlToMarkdown(html, "https://example.com/", { ...quiet, limitMs: 500 });
    expect(text).toContain("deep words");
  });
});

/** Ways to hide text in a page from its visitors. */
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
  '<span style="color:#00000000">SECRET</span>',
  '<span style="color:#0000">SECRET</span>',
  '<span style="color:rgb(0 0 0 / 1%)">SECRET</span>',
  '<span style="color:hsla(0,0%,0%,.01)">SECRET</span>',
  '<span style="-webkit-text-fill-color:rgba(1,2,3,0)">SECRET</span>',
  '<span style="font-size:0.01em">SECRET</span>',
  '<span style="font-size:1%">SECRET</span>',
  '<span style="font-size:.1mm">SECRET</span>',
  '<span style="font-size:calc(0px)">SECRET</span>',
  '<span style="font-size:calc(1em * 0)">SECRET</span>',
  '<span style="font-size:min(0px, 1em)">SECRET</span>',
  '<span style="font-size:clamp(0px, 0px, 1px)">SECRET</span>',
  '<div style="opacity:1%">SECRET</div>',
  '<div style="scale:0">SECRET</div>',
  '<div style="transform:scale(0.01)">SECRET</div>',
  '<div style="transform:rotateX(90deg)">SECRET</div>',
  '<div style="transform:matrix(0, 0, 0, 0, 0, 0)">SECRET</div>',
  '<div style="translate:-9999px">SECRET</div>',
  '<div style="filter:opacity(0)">SECRET</div>',
  '<div style="filter:blur(99px)">SECRET</div>',
  '<div style="mask-image:linear-gradient(transparent, transparent)">SECRET</div>',
  '<div style="-webkit-mask:linear-gradient(#0000,#0000)">SECRET</div>',
  '<div style="--d:none;display:var(--d)">SECRET</div>',
  '<div style="display:var(--unknown, none)">SECRET</div>',
  '<div style="display:none !important;display:block">SECRET</div>',
  '<span class="label sr-only">SECRET</span>',
  '<span class="visually-hidden">SECRET</span>',
  "<!-- SECRET -->",
  "<template><p>SECRET</p></template>",
  "<noscript>SECRET</noscript>",
  "<canvas>SECRET</canvas>",
  "<video>SECRET</video>",
  "<datalist><option>SECRET</option></datalist>",
  '<p hidden><img src="/a.png" alt="SECRET" title="SECRET"><a href="/" title="SECRET">x</a></p>',
];
/** Ways of hiding text; only the parsed page reveals them. */
const hidingByContext = [
  '<img src="/a.png" width="1" height="1" alt="SECRET">',
  "<dialog>SECRET</dialog>",
  '<p style="color:white">SECRET</p>',
  '<font color="#FFFFFF">SECRET</font>',
  '<div style="background:#000"><b><i style="color:#000000">SECRET</i></b></div>',
  '<section style="--d:none"><p><b style="display:var(--d)">SECRET</b></p></section>',
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
  '<p style="color:#11223344;font-size:calc(1em + 0.5vw);opacity:90%">SEEN</p>',
  '<p style="color:rgba(0,0,0,.8);font-size:clamp(1rem, 2vw, 2rem);scale:1">SEEN</p>',
  '<p style="mask-image:linear-gradient(black, transparent)">SEEN</p>',
  '<p style="font-size:90%;filter:opacity(0.9)">SEEN</p>',
  '<p style="font-size:var(--size);display:var(--display);color:var(--text)">SEEN</p>',
  '<p style="color:inherit;background:inherit">SEEN</p>',
  '<p style="font-size:larger;display:block;display:revert">SEEN</p>',
];

describe("text that visitors can't see", () => {
  const numbered = (pieces: readonly string[]) =>
    pieces.map((html, index) => `${html.replaceAll(/SECRET|SEEN/g, `$&${index}.`)}<p>between</p>`).join("");
  const inArticle = (html: string) => {
    const plain = `<p>${"This is an ordinary sentence. ".repeat(12)}</p>`;
    return `<article>${plain}${html}${plain}</article>`;
  };

  it.each([(html: string) => html, inArticle])("is omitted (%#)", async (within) => {
    const ways = [...hiding, ...hidingByContext];
    const { text, title } = await htmlToMarkdown(within(numbered(ways)), "https://example.com/", quiet);
    const leaks = ways.filter((_, index) => `${title}${text}`.includes(`SECRET${index}.`));
    expect(leaks).toEqual([]);
    expect(text.match(/between/g)).toHaveLength(ways.length);
  });

  it.each(hiding)("is omitted from plain text: %s", (html) => {
    expect(plainText(`<p>before</p>${html}<p>after</p>`)).toBe("before\nafter");
  });

  it.each([(html: string) => html, inArticle])("is distinguished from visible text (%#)", async (within) => {
    const { text } = await htmlToMarkdown(within(numbered(seen)), "https://example.com/", quiet);
    const plain = plainText(numbered(seen));
    const missing = seen.filter((_, index) => !text.includes(`SEEN${index}.`) || !plain.includes(`SEEN${index}.`));
    expect(missing).toEqual([]);
  });

  it("is omitted if simple rules in the page's style sheets hide it", async () => {
    const sheet = `/* .seen { display: none } */ @charset "utf-8"; @import url(x.css);
      .a { display: none } #b, em.c { visibility: hidden } p.d.e { font-size: 0 } aside { opacity: 0 }
      #f { display: none } p { display: block } :root { --g: none } .g { display: var(--g) }
      @media screen { .h { display: none } } @media (min-width: 9px) { .i { display: none } }
      .j { color: #fff; background: #fff } .k { display: none !important } p.k { display: block }
      @media print { .seen { display: none } } @media (max-width: 600px) { .seen { display: none } }
      .wide { display: none } @media (min-width: 600px) { .wide { display: block } }
      .fades { opacity: 0; transition: opacity 1s } .menu:hover { display: none } .open .seen { display: none }
      @keyframes x { from { opacity: 0 } } u.seen { display: none } .seen.not { display: none }`;
    const hidden = ["p class=a", "p id=b", "em class=c", 'p class="e d"', "aside", "p id=f", "p class=g", "p class=h"];
    const ways = [...hidden, "p class=i", "p class=j", "p class=k"].map(
      (tag) => `<${tag}>SECRET</${tag.split(" ")[0]}>`,
    );
    const shown = ["seen", "wide", "fades", "menu", "d", "e"].map((name) => `<p class=${name}>SEEN</p>`);
    const html = `<style>${sheet}</style><style media=print>p { display: none }</style><noscript><style>p { display: none }</style></noscript>${numbered([...ways, ...shown])}`;
    const { text } = await htmlToMarkdown(html, "https://example.com/", quiet);
    expect(ways.filter((_, index) => text.includes(`SECRET${index}.`))).toEqual([]);
    expect(shown.filter((_, index) => !text.includes(`SEEN${ways.length + index}.`))).toEqual([]);
  });

  it("does not include white text if a style sheet may set the background", async () => {
    const html = '<style>.hero { background: navy }</style><div class="hero"><p style="color:white">SEEN</p></div>';
    expect((await htmlToMarkdown(html, "https://example.com/", quiet)).text).toContain("SEEN");
  });

  it("is removed from plain text in linear time", () => {
    const many = 100_000;
    for (const piece of ["<b hidden>", "<b ", '<b "', "<b hidden></b>", "</b>", "<!--", "<svg>", "<b style='"])
      expect(plainText(`x${piece.repeat(many)}`)).toMatch(/^x/);
  });
});

describe("plainText", () => {
  it("drops tags, scripts and comments and decodes entities", () => {
    expect(plainText("<p>a &lt; b</p><script>if (a < b) {}</script><!-- no --><p>c&#33;&#x21;</p>")).toBe("a < b\nc!!");
  });

  it("handles unclosed tags", () => {
    expect(plainText("text <script>never")).toBe("text");
    expect(plainText("text <b")).toBe("text");
  });
});
