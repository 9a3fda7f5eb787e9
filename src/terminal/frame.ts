import type { Drawing, Layer, Space } from "./app.ts";
import { type Row, type Span, span } from "./screen/row.ts";
import { spread, widthOf } from "./screen/text.ts";

/** The parts of the screen, from top to bottom. */
export interface FrameParts {
  readonly columns: number;
  /** Height of the terminal. */
  readonly rows: number;
  /** Whether rows may be cut, because the terminal is being resized. */
  readonly isCut: boolean;
  /** Unfinished end of the conversation. Only its last rows are shown. */
  readonly open: readonly Row[];
  /** The main agent's current activity. */
  readonly activity: readonly Row[];
  /** Draws the tree of agents in the given number of rows. */
  readonly panel: (rows: number) => readonly Row[];
  /** Queued prompts. If there is no room for all of them, the first and the last ones are shown. */
  readonly queue: readonly Row[];
  /** Notes that the user must not overlook, such as a request that is waiting for an answer. */
  readonly notes: readonly Row[];
  readonly layer: Layer | undefined;
  /** Completions of the word that the user is writing. */
  readonly suggestions: readonly Row[];
  readonly box: (space: Space) => Drawing;
  /** Returns the key hints, and facts about the session. Called when everything else has been drawn. */
  readonly hint: () => Row;
  readonly status: readonly Row[];
}

/** Maximum height of the prompt box in rows. */
const MAX_BOX_ROWS = 10;
/** Maximum height of the prompt box in rows while something else has the keyboard focus. */
const MAX_IDLE_BOX_ROWS = 2;
const MAX_QUEUE_ROWS = 3;

/** Combines the parts into a frame that is always shorter than the terminal. */
export function composeFrame(parts: FrameParts): Drawing {
  const { columns, layer } = parts;
  // One row stays free, so that the terminal never scrolls by itself.
  let left = Math.max(4, parts.rows - 1);
  const take = (rows: readonly Row[], most: number): readonly Row[] => {
    const kept = rows.slice(0, Math.max(0, Math.min(most, left)));
    left -= kept.length;
    return kept;
  };
  const status = take(parts.status, 2);
  left -= 1;
  const rule: Row = [span("─".repeat(Math.max(1, columns - 1)), "dim")];
  const most = layer === undefined ? MAX_BOX_ROWS : MAX_IDLE_BOX_ROWS;
  const box = parts.box({ columns, rows: Math.max(1, Math.min(most, Math.floor(left / 3))) });
  left -= box.rows.length + 2;
  const drawn = layer?.draw({ columns, rows: Math.max(0, left - 1), isCut: parts.isCut });
  const suggestions = take(parts.suggestions, Math.max(1, left - 4));
  const layerRows = take(blankBefore(drawn?.rows ?? []), left);
  const notes = take(blankBefore(parts.notes), left);
  const queueRoom = Math.min(MAX_QUEUE_ROWS, left - 4);
  const queue = take(blankBefore(folded(parts.queue, queueRoom)), left);
  const activity = take(blankBefore(parts.activity), left);
  const panelRoom = Math.min(left - 2, Math.max(4, Math.floor(left / 2)));
  const panel = take(panelRoom > 2 ? blankBefore(parts.panel(panelRoom - 1)) : [], left);
  const open = parts.open.slice(Math.max(0, parts.open.length - Math.max(0, left - 1)));
  const above = [
    ...open,
    ...activity,
    ...panel,
    ...queue,
    ...(queue.length > 0 ? notes.slice(1) : notes),
    ...layerRows,
  ];
  const blank = left > open.length ? [[]] : [];
  // No row above the cursor fills the width: a terminal that becomes narrower would wrap it, and output on its way to
  // the terminal would then be written to the wrong rows.
  const rows = [...above, ...blank, ...box.rows, rule, ...suggestions, parts.hint(), ...status];
  return { rows, cursor: cursorIn() };

  function cursorIn(): Drawing["cursor"] {
    if (layer === undefined)
      return box.cursor && { row: above.length + blank.length + box.cursor.row, column: box.cursor.column };
    const start = above.length - layerRows.length + 1;
    return drawn?.cursor && { row: start + drawn.cursor.row, column: drawn.cursor.column };
  }
}

/**
 * Returns all rows if there is room for them; otherwise, returns the first few and the last one, with a count of the
 * others.
 */
function folded(rows: readonly Row[], room: number): readonly Row[] {
  if (rows.length <= room) return rows;
  const more = rows.length - Math.max(0, room - 1);
  const between: Row = [span(`  and ${more} more in the queue`, "dim")];
  if (room < 3) return [...rows.slice(0, Math.max(0, room - 1)), between].slice(0, Math.max(0, room));
  return [...rows.slice(0, room - 2), between, ...rows.slice(-1)];
}

function blankBefore(rows: readonly Row[]): readonly Row[] {
  return rows.length === 0 ? [] : [[], ...rows];
}

export interface Hints {
  /** Key hints, most important first. */
  readonly keys: readonly string[];
  /** Important text for the right edge. */
  readonly mode?: Span | undefined;
  /** Facts for the right edge, most important first. */
  readonly facts: readonly string[];
}

/** Returns a row with as many key hints as fit. Facts are shown only if all hints fit. */
export function hintRow({ keys, mode, facts }: Hints, columns: number): Row {
  const reserved = mode === undefined ? 0 : widthOf(mode.text) + 2;
  const room = Math.max(8, columns - 3 - reserved);
  const kept = keys.filter((_, index) => index === 0 || widthOf(joined(keys.slice(0, index + 1))) <= room);
  const left = kept.length < keys.length ? 0 : room - widthOf(joined(kept)) - 2;
  const shown = facts.filter((_, index) => widthOf(joined(facts.slice(0, index + 1))) <= left - (mode ? 3 : 0));
  const right = [
    ...(mode === undefined ? [] : [mode]),
    ...(shown.length === 0 ? [] : [span(`${mode === undefined ? "" : " · "}${joined(shown)}`, "dim")]),
  ];
  return spread([span(`  ${joined(kept)}`, "dim")], right, columns - 1);
}

function joined(parts: readonly string[]): string {
  return parts.join(" · ");
}
