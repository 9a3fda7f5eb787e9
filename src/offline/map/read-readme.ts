import type { Page } from "../jobs/results.ts";

type Line = Page["lines"][number];

export interface Readme {
  readonly title?: Line | undefined;
  /** The first meaningful paragraph, as plain text on one line. */
  readonly paragraph?: Line | undefined;
}

/**
 * Finds the title and the first paragraph of a README in Markdown or reStructuredText. Skips badges, HTML, notes and
 * code.
 */
export function readReadme({ lines }: Page): Readme {
  let title: Line | undefined;
  for (const block of blocksOf(lines)) {
    const heading = headingOf(block);
    if (heading) title ??= heading.level === 1 ? heading.line : undefined;
    else {
      const html = htmlTitle(block);
      title ??= html;
      const paragraph = paragraphOf(block, html?.text);
      if (paragraph) return { title, paragraph };
    }
  }
  return { title };
}

/** Splits text at empty lines and headings. Leaves out front matter, comments, code, tables and directives. */
function blocksOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const blocks: Line[][] = [[]];
  let skipUntil: RegExp | undefined;
  for (const [index, line] of lines.entries()) {
    const { text } = line;
    if (skipUntil) {
      if (!skipUntil.test(text)) continue;
      skipUntil = undefined;
      // The first line after an indented directive is part of the text.
      if (text.trim() === "" || /^(---|```|~~~)|-->/.test(text.trim())) continue;
    }
    const skip = skipped(text, index);
    if (skip) {
      skipUntil = skip.until;
      blocks.push([]);
    } else if (text.trim() === "") blocks.push([]);
    else if (/^#{1,6}\s/.test(text)) blocks.push([line], []);
    else if (/^([=~^*-])\1{2,}\s*$/.test(text)) {
      const previous = blocks.at(-1);
      if (previous?.length === 1) previous.push(line);
      blocks.push([]);
    } else blocks.at(-1)?.push(line);
  }
  return blocks.filter((block) => block.length > 0);
}

/**
 * Returns an object if the line is not text and must be skipped. If the line starts a block, such as a code block,
 * `until` matches the line that ends the block. Returns undefined for text.
 */
function skipped(text: string, index: number): { readonly until?: RegExp | undefined } | undefined {
  const line = text.trim();
  if (index === 0 && line === "---") return { until: /^---\s*$/ };
  if (/^<!--/.test(line)) return line.includes("-->") ? {} : { until: /-->/ };
  const fence = /^(```|~~~)/.exec(line)?.[1];
  if (fence !== undefined) return { until: new RegExp(`^\\s*${fence}`) };
  if (/^\.\. /.test(line)) return { until: /^\S/ };
  if (/^> ?\[!\w+\]/.test(line)) return { until: /^(?!>)/ };
  if (/^\[[^\]]+\]:\s|^\||^(\|[\w -]+\|\s*)+$|^[-*+] |^\d+\. |^:\w+:/.test(line)) return {};
  return undefined;
}

function headingOf(block: readonly Line[]): { readonly line: Line; readonly level: number } | undefined {
  const [first, second] = block;
  if (!first) return undefined;
  const marks = /^(#{1,6})\s+(.*?)\s*#*$/.exec(first.text);
  if (marks) return { level: marks[1]?.length ?? 1, line: { ...first, text: plainText(marks[2] ?? "") } };
  if (second && /^([=~^*-])\1{2,}\s*$/.test(second.text))
    return { level: second.text.startsWith("=") ? 1 : 2, line: { ...first, text: plainText(first.text) } };
  return undefined;
}

function htmlTitle(block: readonly Line[]): Line | undefined {
  const text = block.map((line) => line.text).join("\n");
  const inside = plainText(/<h1\b[^>]*>([\s\S]*?)<\/h1>/i.exec(text)?.[1] ?? "");
  const line = block.find((one) => /<h1\b/i.test(one.text));
  return line && inside !== "" ? { ...line, text: inside } : undefined;
}

/** HTML elements that separate paragraphs. */
const blockTags = /<\/?(?:p|div|h[1-6]|br|center|table|tr|td|ul|li|picture|details|summary|hr|blockquote)\b[^<>]*>/gi;
const fewestWords = 4;

function paragraphOf(block: readonly Line[], title: string | undefined): Line | undefined {
  const whole = block.map(({ text }) => text.replace(/^\s*>\s?/, "")).join("\n");
  for (const part of whole.replace(blockTags, "\n\n").split(/\n\s*\n/)) {
    const text = plainText(part);
    if (text === title || !saysSomething(text)) continue;
    const start = text.slice(0, 12);
    const line = block.find((one) => plainText(one.text.replace(/^\s*>\s?/, "")).startsWith(start)) ?? block[0];
    return line && { ...line, text };
  }
  return undefined;
}

/** Returns true if the text is a sentence, or is longer than a link such as "Read the docs". */
function saysSomething(text: string): boolean {
  const words = (text.match(/\p{L}[\p{L}\d'-]*/gu) ?? []).length;
  return words >= fewestWords || (words > 1 && /[.!]$/.test(text));
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " ", "#39": "'" };

/** Returns Markdown or HTML as plain text on one line, without images, links and emphasis. */
export function plainText(text: string): string {
  return text
    .replace(/!\[[^[\]]*\](\([^()]*\)|\[[^[\]]*\])?/g, "")
    .replace(/\[([^[\]]*)\](\([^()]*\)|\[[^[\]]*\])/g, "$1")
    .replace(/<\/?[A-Za-z][^<>]*>/g, "")
    .replace(/`([^`<]+) <[^>]+>`_+/g, "$1")
    .replace(/``([^`]+)``/g, "`$1`")
    .replace(/(\*\*|__)(?=\S)(.+?)\1/g, "$2")
    .replace(/(?<![\w*])([*_])(?=\S)([^*_]+)\1(?![\w*])/g, "$2")
    .replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (_, name: string) => entities[name] ?? "")
    .replace(/\s+/g, " ")
    .trim();
}
