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

describe("plainText", () => {
  it("drops tags, scripts and comments and reads entities", () => {
    expect(plainText("<p>a &lt; b</p><script>if (a < b) {}</script><!-- no --><p>c&#33;&#x21;</p>")).toBe("a < b\nc!!");
  });

  it("copes with tags that never end", () => {
    expect(plainText("text <script>never")).toBe("text");
    expect(plainText("text <b")).toBe("text");
  });
});
