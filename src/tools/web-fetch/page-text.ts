import { formatBytes, plural } from "../../lib/index.ts";

export type PageText =
  | { readonly ok: true; readonly title: string; readonly text: string }
  | { readonly ok: false; readonly reason: string };

export interface Page {
  readonly url: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** HTML as Markdown, other text as it is; whatever is not text is refused with its type and size. */
export async function pageText({ url, contentType, body }: Page, signal: AbortSignal): Promise<PageText> {
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (!isText(type, body)) {
    const what = type === "" ? "of an unknown type" : type;
    return { ok: false, reason: `The page is ${what} (${formatBytes(body.length)}), not text.` };
  }
  const raw = decode(body, contentType);
  const isHtml =
    type === "text/html" || type === "application/xhtml+xml" || (type === "" && /^\s*<(!doctype|html)/i.test(raw));
  const { title, text } = isHtml ? await markdownOf(raw, url, signal) : { title: "", text: raw };
  return { ok: true, title: withoutInvisible(title).text, text: told(withoutInvisible(text)) };
}

async function markdownOf(html: string, url: string, signal: AbortSignal): Promise<{ title: string; text: string }> {
  const { htmlToMarkdown } = await import("./html-to-markdown.ts");
  return htmlToMarkdown(html, url, { signal });
}

const textTypes =
  /^(text\/|application\/(.+\+)?(json|xml|xhtml\+xml|javascript|ecmascript|x-javascript|yaml|x-yaml|toml|x-ndjson|x-sh|sql|graphql)$)/;

function isText(type: string, body: Uint8Array): boolean {
  if (type !== "") return textTypes.test(type);
  return !body.subarray(0, 8_192).includes(0);
}

function decode(body: Uint8Array, contentType: string): string {
  const declared = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1];
  const inPage = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i;
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 2_048)).toString("latin1");
  const label = declared ?? (/html/i.test(contentType) ? inPage.exec(start)?.[1] : undefined) ?? "utf-8";
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}

// Controls, zero-width and bidirectional marks, tag characters: they carry words that a person who looks can't see.
const invisible =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function withoutInvisible(text: string): { text: string; removed: number } {
  let removed = 0;
  const clean = text.replace(invisible, () => {
    removed += 1;
    return "";
  });
  return { text: clean, removed };
}

function told({ text, removed }: { text: string; removed: number }): string {
  return removed === 0 ? text : `${text}\n[${plural(removed, "invisible character")} removed]`;
}
