import type { Drawing, Layer, Space } from "./app.ts";
import type { Row } from "./screen/row.ts";
import { span } from "./screen/row.ts";
import { spread, widthOf } from "./screen/text.ts";

/** The parts of the screen, from top to bottom. */
export interface FrameParts {
  readonly columns: number;
  /** Height of the terminal. */
  readonly rows: number;
  /** The end of the conversation, which is not finished. Its last rows are shown. */
  readonly open: readonly Row[];
  /** What the main agent does. */
  readonly activity: readonly Row[];
  /** Draws the tree of agents in the given number of rows. */
  readonly panel: (rows: number) => readonly Row[];
  /** Prompts that wait for their turn. */
  readonly queue: readonly Row[];
  readonly layer: Layer | undefined;
  /** What completes the word that the user is writing. */
  readonly suggestions: readonly Row[];
  readonly box: (space: Space) => Drawing;
  /** What the keys do, and facts about the session. */
  readonly hint: readonly Row[];
  readonly status: readonly Row[];
}

/** Number of rows that the box in which the user writes may have. */
const MAX_BOX_ROWS = 10;
const MAX_QUEUE_ROWS = 4;

/** Puts the parts together, so that the result is always lower than the terminal. */
export function composeFrame(parts: FrameParts): Drawing {
  const { columns, layer } = parts;
  // One row stays free, so that the terminal never scrolls by itself.
  let left = Math.max(4, parts.rows - 1);
  const take = (rows: readonly Row[], most: number): readonly Row[] => {
    const kept = rows.slice(0, Math.max(0, Math.min(most, left)));
    left -= kept.length;
    return kept;
  };
  const hint = take([...parts.hint, ...parts.status], 3);
  const rule: Row = [span("─".repeat(Math.max(1, columns - 1)), "dim")];
  const box = parts.box({ columns, rows: Math.max(1, Math.min(MAX_BOX_ROWS, Math.floor(left / 3))) });
  left -= box.rows.length + 2;
  const drawn = layer?.draw({ columns, rows: Math.max(1, left - 1) });
  const suggestions = take(parts.suggestions, Math.max(1, left - 4));
  const layerRows = take(blankBefore(drawn?.rows ?? []), left);
  const queue = take(blankBefore(parts.queue), Math.min(MAX_QUEUE_ROWS, left - 3));
  const activity = take(blankBefore(parts.activity), left);
  const panelRoom = Math.min(left - 2, Math.max(4, Math.floor(left / 2)));
  const panel = take(panelRoom > 2 ? blankBefore(parts.panel(panelRoom - 1)) : [], left);
  const open = parts.open.slice(Math.max(0, parts.open.length - Math.max(0, left - 1)));
  const above = [...open, ...activity, ...panel, ...queue, ...layerRows];
  const blank = left > open.length ? [[]] : [];
  // No row above the cursor fills the width: a terminal that becomes narrower would break it, and what was on its way to
  // the terminal would then be written to wrong rows.
  const rows = [...above, ...blank, ...box.rows, rule, ...suggestions, ...hint];
  return { rows, cursor: cursorIn() };

  function cursorIn(): Drawing["cursor"] {
    if (layer === undefined)
      return box.cursor && { row: above.length + blank.length + box.cursor.row, column: box.cursor.column };
    const start = above.length - layerRows.length + 1;
    return drawn?.cursor && { row: start + drawn.cursor.row, column: drawn.cursor.column };
  }
}

function blankBefore(rows: readonly Row[]): readonly Row[] {
  return rows.length === 0 ? [] : [[], ...rows];
}

/** Returns a row with what the keys do on the left, as many as there is room for, and facts on the right. */
export function hintRow(keys: readonly string[], facts: string, columns: number): Row {
  const room = columns - 5 - widthOf(facts);
  const kept = keys.filter((_, index) => widthOf(keys.slice(0, index + 1).join(" · ")) <= room);
  return spread([span(`  ${kept.join(" · ")}`, "dim")], [span(facts, "dim")], columns - 1);
}
