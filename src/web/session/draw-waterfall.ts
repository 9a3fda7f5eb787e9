import type { AgentId } from "../../protocol/index.ts";
import { formatAge, formatMs } from "../parts/format.ts";
import type { Span } from "./spans.ts";

/** Height of a lane and of the axis above the lanes, in pixels. */
export const LANE = 24;
export const TOP = 20;
const BAR = 12;
/** Height of a bar for time in which the agent itself does nothing. */
const THIN = 3;

/** Times in milliseconds since 1970. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface Drawing {
  readonly lanes: readonly {
    readonly agentId: AgentId;
    readonly label: string;
    readonly depth: number;
    readonly spans: readonly Span[];
  }[];
  readonly range: Range;
  /** End of the spans that last. */
  readonly end: number;
  readonly selected: AgentId;
  /** Pixels between which the user is dragging. */
  readonly drag: { readonly from: number; readonly to: number } | undefined;
  readonly width: number;
  readonly height: number;
  /** Number of pixels by which the lanes are scrolled. */
  readonly top: number;
}

/** Returns the width of the labels. */
export function leftOf(width: number): number {
  return Math.min(200, Math.max(88, width * 0.24));
}

/** Draws the visible lanes. Bars that fall on the same pixels are drawn once. */
export function drawWaterfall(canvas: HTMLCanvasElement, drawing: Drawing): void {
  const { width, height, lanes, top, selected, drag } = drawing;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return;
  const style = getComputedStyle(canvas);
  const color = colorsOf(canvas, style);
  const left = leftOf(width);
  context.scale(ratio, ratio);
  context.font = `12px ${style.fontFamily}`;
  context.textBaseline = "middle";

  const first = Math.max(0, Math.floor(top / LANE));
  const last = Math.min(lanes.length, Math.ceil((top + height) / LANE));
  drawAxis(context, drawing, color);
  for (let index = first; index < last; index++) {
    const lane = lanes[index];
    if (lane === undefined) continue;
    const y = TOP + index * LANE - top;
    if (y + LANE < TOP) continue;
    if (lane.agentId === selected) {
      context.fillStyle = color("selected");
      context.fillRect(0, y, width, LANE);
    }
    context.save();
    context.beginPath();
    context.rect(left, Math.max(y, TOP), width - left, LANE);
    context.clip();
    for (const span of lane.spans) drawSpan(context, { span, y, drawing, color });
    context.restore();
    context.save();
    context.beginPath();
    context.rect(0, Math.max(y, TOP), left - 12, LANE);
    context.clip();
    context.fillStyle = lane.agentId === selected ? color("text") : color("dim");
    const indent = 16 + 8 * Math.min(lane.depth, 4);
    context.fillText(fitted(context, lane.label, left - 12 - indent), indent, y + LANE / 2);
    context.restore();
  }
  if (drag !== undefined) {
    context.fillStyle = color("accent-soft");
    context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), height);
  }
}

/** Returns a function that finds a color of the theme. Only colors of elements are computed, not those of variables. */
function colorsOf(canvas: HTMLCanvasElement, style: CSSStyleDeclaration): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    canvas.style.color = `var(--${name})`;
    const color = style.color;
    known.set(name, color);
    return color;
  };
}

/** Shortens a text until it fits. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = Math.floor((text.length * width) / context.measureText(text).width);
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

interface Bar {
  readonly span: Span;
  readonly y: number;
  readonly drawing: Drawing;
  readonly color: (name: string) => string;
}

function drawSpan(context: CanvasRenderingContext2D, { span, y, drawing, color }: Bar): void {
  const [x, right] = edgesOf(span, drawing);
  if (right < leftOf(drawing.width) || x > drawing.width) return;
  const wide = Math.max(1.5, right - x - 0.5);
  const high = span.kind === "agents" ? THIN : BAR;
  const top = y + (LANE - high) / 2;
  context.fillStyle = color(span.isFailed ? "bar-bad" : `bar-${span.kind}`);
  context.beginPath();
  context.roundRect(x, top, wide, high, Math.min(2, wide / 2));
  context.fill();
  if (span.kind !== "asking" || wide < 4) return;
  // Stripes, so that color is not the only sign.
  context.save();
  context.clip();
  context.strokeStyle = color("bar-asking-line");
  context.lineWidth = 2;
  context.beginPath();
  for (let at = x - BAR; at < x + wide; at += 7) {
    context.moveTo(at, top + BAR);
    context.lineTo(at + BAR, top);
  }
  context.stroke();
  context.restore();
}

/** Returns the pixels at which a span begins and ends. */
function edgesOf({ start, end }: Span, drawing: Drawing): readonly [number, number] {
  const { range, width } = drawing;
  const left = leftOf(width);
  const scale = (width - left - 8) / Math.max(1, range.to - range.from);
  return [left + (start - range.from) * scale, left + ((end ?? drawing.end) - range.from) * scale];
}

const steps = [10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 864e5];

function drawAxis(context: CanvasRenderingContext2D, drawing: Drawing, color: (name: string) => string): void {
  const { range, width, height, lanes } = drawing;
  const length = range.to - range.from;
  const step = steps.find((each) => length / each <= Math.max(2, (width - leftOf(width)) / 90)) ?? length;
  const zero = lanes.reduce((least, { spans }) => Math.min(least, spans[0]?.start ?? least), range.to);
  context.strokeStyle = color("line");
  context.fillStyle = color("faint");
  context.lineWidth = 1;
  for (let time = zero + Math.ceil((range.from - zero) / step) * step; time <= range.to; time += step) {
    const [x] = edgesOf({ kind: "tool", name: "", start: time }, drawing);
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, TOP);
    context.lineTo(Math.round(x) + 0.5, height);
    context.stroke();
    const since = time - zero;
    context.fillText(since < 6e4 || step < 1e3 ? formatMs(since).replace(".0 s", " s") : formatAge(since), x, TOP / 2);
  }
}

/** Finds the span at a place of the canvas, the last one drawn first. */
export function spanAt(drawing: Drawing, { x, y }: { readonly x: number; readonly y: number }): Span | undefined {
  const lane = drawing.lanes[Math.floor((y - TOP + drawing.top) / LANE)];
  return lane?.spans.findLast((span) => {
    const [left, right] = edgesOf(span, drawing);
    return x >= left - 2 && x <= Math.max(right, left + 1.5) + 2;
  });
}
