import { stripControls } from "../lib/index.ts";

/** Foreign text for a model's head: without control characters, at most so many characters, a cut shown by `…`. */
export function cutText(text: string, most: number): string {
  const clean = stripControls(text).trim();
  if (clean.length <= most) return clean;
  // Not in the middle of a character that takes two.
  const end = /[\ud800-\udbff]/.test(clean.charAt(most - 2)) ? most - 2 : most - 1;
  return `${clean.slice(0, end)}…`;
}
