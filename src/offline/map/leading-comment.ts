import type { Page } from "../jobs/results.ts";

type Lines = Page["lines"];

const maxLines = 5;

/** Returns the first paragraph of the comment that describes a file. Skips licenses, `#!` lines and tool directives. */
export function leadingComment({ lines }: Page): Lines {
  for (const comment of leadingComments(lines.slice(0, 80))) {
    if (comment.some(({ text }) => isLicense(text))) continue;
    const paragraph = firstParagraph(comment);
    if (paragraph.length > 0 && !isEmptyTalk(paragraph[0]?.text ?? "")) return paragraph.slice(0, maxLines);
  }
  return [];
}

export function isLicense(text: string): boolean {
  return /copyright|licen[cs]e|\bspdx\b|all rights reserved|©|\(c\)|^(permission|redistribution|unless required|you may|the software|the above|this (file is part of|software is provided))\b/i.test(
    text,
  );
}

/** Returns true if a comment says nothing about the purpose of its file. */
export function isEmptyTalk(text: string): boolean {
  return /^(authors?:|contact:|created|dummy|placeholder|empty|(auto-?)?generated|this (file is|code was) (auto-?)?generated|do not edit|eslint|prettier|biome|tslint|istanbul|@ts-|re-?exports?\b)/i.test(
    text,
  );
}

/** Yields the comments before the first line of code. */
function* leadingComments(lines: Lines): Generator<Lines> {
  let comment: { number: number; text: string }[] = [];
  let closing: string | undefined;
  for (const { number, text } of lines) {
    const line = text.trim();
    const opened = closing === undefined ? blockStart.exec(line) : undefined;
    if (closing !== undefined || opened) {
      if (opened && comment.length > 0) {
        yield comment;
        comment = [];
      }
      closing ??= opened?.groups?.["quote"] ?? (line.startsWith("<") ? "-->" : "*/");
      const inside = opened ? line.slice(opened[0].length) : line;
      const end = inside.indexOf(closing);
      comment.push({ number, text: (end < 0 ? inside : inside.slice(0, end)).replace(/^\*+(\s|$)/, "").trim() });
      if (end < 0) continue;
      closing = undefined;
      yield comment;
      comment = [];
      continue;
    }
    const found = isPreamble(line) ? undefined : lineComment.exec(line);
    if (found) comment.push({ number, text: (found[1] ?? "").trim() });
    else {
      if (comment.length > 0) yield comment;
      comment = [];
      if (line !== "" && !isPreamble(line)) return;
    }
  }
  if (comment.length > 0) yield comment;
}

const blockStart = /^(?:[rRuU]?(?<quote>"""|''')|\/\*+!?|<!--)\s*/;
const lineComment = /^(?:\/\/+!?|#+(?!\[)|--+|;+|%+)(?:\s(.*))?$/;

/**
 * Returns true if a line may precede the comment of a file: a `#!` line, a tool directive or a Java package
 * declaration.
 */
function isPreamble(line: string): boolean {
  return /^(#!|["']use strict["']|\/\/ ?@ts-|# ?-\*-|# (type|pylint|flake8|noqa|frozen_string_literal)\b|\/\/go:build|\/\* ?eslint|#(include|define|pragma|if|ifdef|ifndef|endif)\b|<\?php|declare\(|(package|namespace|using|import)( static)? [\w.*\\]+;$)/.test(
    line,
  );
}

/** Returns the lines up to the first empty line or the first tag, such as `@author`. */
function firstParagraph(comment: Lines): Lines {
  const lines: { number: number; text: string }[] = [];
  for (const { number, text } of comment) {
    const plain = text.replace(/^@(file(overview)?|module|packageDocumentation|brief)\b\s*/, "");
    if (/^@\w/.test(plain)) break;
    if (/[A-Za-z]/.test(plain)) lines.push({ number, text: plain });
    // A single word only repeats the name of the file.
    else if (lines.length === 1 && !/\s/.test(lines[0]?.text ?? "")) lines.pop();
    else if (lines.length > 0) break;
  }
  return lines;
}
