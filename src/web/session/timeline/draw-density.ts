import type { Span } from "../../../client/index.ts";

interface Strip {
  /** Spans of each agent. */
  readonly spans: readonly (readonly Span[])[];
  /** Returns the name of a span's color. Spans of the same color are counted together. */
  readonly colorOf: (span: Span) => string;
  /** Returns the pixels at which a span begins and ends. */
  readonly edgesOf: (span: Span) => readonly [number, number];
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly height: number;
}

/** Width of a column in pixels. */
const COLUMN = 2;
/** Colors from the bottom to the top of a column. */
const order = ["bar-model", "bar-tool", "bar-agents", "bar-stopped", "bar-asking", "bar-bad"];

/** Draws how many of a group's agents did what at the same time. The tallest column fills the whole height. */
export function drawDensity(context: CanvasRenderingContext2D, strip: Strip, color: (name: string) => string): void {
  const { left, right, y, height } = strip;
  const counts = countsOf(strip);
  const columns = Math.ceil((right - left) / COLUMN);
  const totals = new Float64Array(columns);
  for (const count of counts.values())
    for (let at = 0; at < columns; at++) totals[at] = (totals[at] ?? 0) + (count[at] ?? 0);
  const peak = totals.reduce((most, total) => Math.max(most, total), 0);
  if (peak === 0) return;
  const bottoms = new Float64Array(columns);
  for (const name of order) {
    const count = counts.get(name);
    if (count === undefined) continue;
    context.fillStyle = color(name);
    for (let at = 0; at < columns; at++) {
      // A few agents among many must still be visible.
      const high = (count[at] ?? 0) === 0 ? 0 : Math.max(1, ((count[at] ?? 0) / peak) * height);
      if (high === 0) continue;
      const bottom = bottoms[at] ?? 0;
      context.fillRect(
        left + at * COLUMN,
        y + height - Math.min(height, bottom + high),
        COLUMN,
        Math.min(high, height),
      );
      bottoms[at] = bottom + high;
    }
  }
}

/** Counts the spans in each column, by color. */
function countsOf({ spans, colorOf, edgesOf, left, right }: Strip): ReadonlyMap<string, Int32Array> {
  const columns = Math.ceil((right - left) / COLUMN);
  const counts = new Map<string, Int32Array>();
  for (const lane of spans)
    for (const span of lane) {
      const [from, to] = edgesOf(span);
      if (to < left || from > right) continue;
      const name = colorOf(span);
      const count = counts.get(name) ?? new Int32Array(columns + 1);
      counts.set(name, count);
      // Store the differences between neighboring columns, which are added up below.
      const first = Math.max(0, Math.floor((from - left) / COLUMN));
      const last = Math.min(columns, Math.max(first + 1, Math.ceil((to - left) / COLUMN)));
      count[first] = (count[first] ?? 0) + 1;
      count[last] = (count[last] ?? 0) - 1;
    }
  for (const count of counts.values())
    for (let at = 1; at < columns; at++) count[at] = (count[at] ?? 0) + (count[at - 1] ?? 0);
  return counts;
}
