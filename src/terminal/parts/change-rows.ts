import { isRecord, showExactly } from "../../lib/index.ts";
import { type ApprovalQuestion, canonicalToolName } from "../../protocol/index.ts";
import { type Row, type Style, span } from "../screen/row.ts";
import { wrap } from "../screen/text.ts";

/** The text that a call would write to a file. */
export interface FileChange {
  /** Names of the call's inputs that the change shows; the last one is the new text. */
  readonly fields: readonly string[];
  readonly before: string;
  readonly after: string;
}

const fieldsByTool: Readonly<Record<string, readonly string[]>> = {
  Edit: ["old_string", "new_string"],
  Write: ["content"],
};

/** Returns the change that a call would make to a file; undefined for other calls. */
export function fileChange({ name, inputJson }: ApprovalQuestion["call"]): FileChange | undefined {
  const fields = fieldsByTool[canonicalToolName(name)];
  const input: unknown = fields && JSON.parse(inputJson);
  if (fields === undefined || !isRecord(input)) return undefined;
  const texts = fields.map((field) => input[field]).filter((text) => typeof text === "string");
  const after = texts.at(-1);
  if (after === undefined || texts.length < fields.length) return undefined;
  return { fields, before: texts.length > 1 ? (texts[0] ?? "") : "", after };
}

interface Marked {
  readonly mark: "+" | "-" | " " | "@" | "\\";
  readonly number: number | undefined;
  readonly text: string;
}

/**
 * Returns all rows of a change, with misleading characters made visible. Without a diff, the old text is followed by
 * the new one.
 */
export function changeRows({ before, after }: FileChange, diff: string | undefined, columns: number): readonly Row[] {
  const lines = diff === undefined ? wholeTexts(before, after) : linesOf(diff);
  const width = String(Math.max(0, ...lines.map(({ number = 0 }) => number))).length;
  return lines.flatMap(({ mark, number, text }): readonly Row[] => {
    if (mark === "@" || mark === "\\") return [[span(`  │ ${mark === "@" ? `${" ".repeat(width)} ⋮` : text}`, "dim")]];
    const style: Style | undefined = mark === "+" ? "added" : mark === "-" ? "removed" : "dim";
    const edge = span("  │ ", "warn");
    const shown = number === undefined ? "" : `${String(number).padStart(width)} `;
    const sign = mark === "-" ? "−" : mark;
    return wrap([span(exactLine(text), style)], {
      columns: columns - 1,
      first: [edge, span(shown, "dim"), span(`${sign} `, style)],
      others: [edge, span(`${" ".repeat(shown.length)}  `)],
    });
  });
}

/** Returns the same change as sentences, for screen readers. Unchanged lines are left out. */
export function spokenChange({ before, after }: FileChange, diff: string | undefined): readonly string[] {
  const lines = diff === undefined ? wholeTexts(before, after) : linesOf(diff);
  return lines.flatMap(({ mark, number, text }) => {
    if (mark !== "+" && mark !== "-") return [];
    const verb = mark === "+" ? "adds" : "removes";
    return [`${verb} line${number === undefined ? "" : ` ${number}`}: ${exactLine(text)}`];
  });
}

function wholeTexts(before: string, after: string): readonly Marked[] {
  const marked = (text: string, mark: Marked["mark"]): readonly Marked[] =>
    text === "" ? [] : text.split("\n").map((line) => ({ mark, number: undefined, text: line }));
  return [...marked(before, "-"), ...marked(after, "+")];
}

function linesOf(diff: string): readonly Marked[] {
  const lines: Marked[] = [];
  let [before, after] = [0, 0];
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    const mark = line[0];
    if (hunk !== null) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      if (lines.length > 0) lines.push({ mark: "@", number: undefined, text: "" });
    } else if (mark === "\\") lines.push({ mark, number: undefined, text: line.slice(2) });
    else if (mark === "+" || mark === "-" || mark === " ") {
      lines.push({ mark, number: mark === "-" ? before : after, text: line.slice(1) });
      if (mark !== "+") before += 1;
      if (mark !== "-") after += 1;
    }
  }
  return lines;
}

/** Shows a line exactly, with its indentation unchanged. */
function exactLine(line: string): string {
  const [, blanks = "", rest = ""] = /^( *)([\s\S]*)$/.exec(line) ?? [];
  return rest === "" ? showExactly(blanks) : `${blanks}${showExactly(rest)}`;
}
