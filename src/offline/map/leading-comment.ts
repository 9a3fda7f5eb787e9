import type { Page } from "../jobs/results.ts";

const maxLines = 5;
const commentStart = /^\s*(\/\/+!?|\/\*+|\*+\/?|#+!?|--+|;+|<!--|%+|"""|''')\s?/;

/** Returns the comment before the first line of code. Skips `#!` lines, and license headers entirely. */
export function leadingComment({ lines }: Page): Page["lines"] {
  const found: { number: number; text: string }[] = [];
  let isBlock = false;
  for (const line of lines.slice(0, 60)) {
    const trimmed = line.text.trim();
    if (trimmed === "" && found.length === 0) continue;
    if (isDirective(trimmed)) continue;
    const opens = /^("""|'''|\/\*)/.test(trimmed);
    if (!isBlock && !commentStart.test(trimmed)) break;
    const text = trimmed
      .replace(commentStart, "")
      .replace(/\s*(\*\/|-->|"""|''')$/, "")
      .trim();
    if (text !== "") found.push({ number: line.number, text });
    if (opens) isBlock = !/("""|'''|\*\/)$/.test(trimmed.slice(3));
    else if (isBlock && /("""|'''|\*\/)$/.test(trimmed)) isBlock = false;
    if (found.length >= maxLines) break;
  }
  return found.some(({ text }) => /copyright|licensed? under|SPDX/i.test(text)) ? [] : found;
}

function isDirective(line: string): boolean {
  return /^(#!|"use strict"|'use strict'|\/\/ @ts-|# -\*-|# (type|pylint|flake8|noqa)|\/\/go:build|\/\* eslint|#\[|#include|#pragma)/.test(
    line,
  );
}
