import { formatBytes, plural } from "../../lib/index.ts";
import { withoutInvisible } from "./invisible-characters.ts";

export type PageText =
  | { readonly ok: true; readonly title: string; readonly text: string }
  | { readonly ok: false; readonly reason: string };

export interface FetchedPage {
  readonly url: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Converts HTML to Markdown and returns other text unchanged. Refuses anything else, and names its type and size. */
export async function pageText({ url, contentType, body }: FetchedPage, signal: AbortSignal): Promise<PageText> {
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

function told({ text, removed }: { text: string; removed: number }): string {
  return removed === 0 ? text : `${text}\n[${plural(removed, "invisible character")} removed]`;
}

/**
 * Shortens a long page to its beginning and the sections that contain the most words of the question, in their original
 * order.
 */
export function chooseSections(text: string, question: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const words = wordsOf(question);
  if (words.length === 0) return text;
  const sections = split(text);
  const scored = sections.map((section, index) => ({ index, score: index === 0 ? Infinity : score(section, words) }));
  scored.sort((left, right) => right.score - left.score || left.index - right.index);
  const chosen = new Set<number>();
  let room = maxCharacters;
  for (const { index, score } of scored) {
    const length = (sections[index]?.length ?? 0) + mark.length;
    if (score === 0 || length > room) continue;
    chosen.add(index);
    room -= length;
  }
  if (chosen.size <= 1) return text;
  return join(sections, chosen);
}

const mark = "\n[…]\n";
const sectionSize = 1_500;
/**
 * Minimum length of a section. A shorter section is joined with the next one, so that a page full of headings is not
 * split into millions of sections.
 */
const leastSize = 100;
const tooCommon = new Set(
  "the and for with that this what which how does from are was were page find about into".split(" "),
);

function wordsOf(question: string): string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? [];
  return [...new Set(words)].filter((word) => !tooCommon.has(word)).slice(0, 30);
}

/** Splits text at the ends of paragraphs into sections of about a screen each. */
function split(text: string): string[] {
  const sections: string[] = [];
  let current = "";
  for (const paragraph of text.split(/\n(?=\n|#)/)) {
    for (let start = 0; start === 0 || start < paragraph.length; start += sectionSize * 4) {
      const piece = paragraph.slice(start, start + sectionSize * 4);
      const startsNew =
        current !== "" &&
        (current.length + piece.length > sectionSize || (piece.startsWith("#") && current.length > leastSize));
      if (startsNew) {
        sections.push(current);
        current = piece;
      } else current = current === "" ? piece : `${current}\n${piece}`;
    }
  }
  if (current !== "") sections.push(current);
  return sections;
}

function score(section: string, words: readonly string[]): number {
  const lower = section.toLowerCase();
  let total = 0;
  for (const word of words) {
    const times = lower.split(word).length - 1;
    total += Math.min(times, 5) + (times > 0 ? 3 : 0);
  }
  return total;
}

function join(sections: readonly string[], chosen: ReadonlySet<number>): string {
  let text = "";
  let last = -1;
  for (const index of [...chosen].sort((left, right) => left - right)) {
    text += index === 0 ? "" : index === last + 1 ? "\n" : mark;
    text += sections[index] ?? "";
    last = index;
  }
  return last < sections.length - 1 ? text + mark : text;
}
