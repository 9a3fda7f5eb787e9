import { runInNewContext } from "node:vm";
import { describeError } from "../../lib/index.ts";

export type Filtered = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

const limitMs = 100;
const maxLineLength = 2_000;

/** The lines that match. An expression that takes for ever is stopped: only a script context can be. */
export function filterLines(text: string, expression: string): Filtered {
  try {
    new RegExp(expression);
  } catch (error) {
    return { ok: false, message: `The filter is not a valid regular expression: ${describeError(error)}` };
  }
  const lines = text.split("\n").map((line) => line.slice(0, maxLineLength));
  const script = "const wanted = new RegExp(expression); JSON.stringify(lines.filter((line) => wanted.test(line)))";
  try {
    const kept = JSON.parse(String(runInNewContext(script, { lines, expression }, { timeout: limitMs }))) as string[];
    return { ok: true, text: kept.join("\n") };
  } catch {
    return { ok: false, message: "The filter takes too long on this output and was not used. Write a simpler one." };
  }
}
