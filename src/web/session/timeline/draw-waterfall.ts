import type { Span } from "../../../client/index.ts";
import type { AgentId } from "../../../protocol/index.ts";
import { drawDensity } from "./draw-density.ts";
import { type AgentLane, axisWords, GAP, type Lane, type Range, ROW } from "./lanes.ts";

/** Height of the axis above the lanes, in pixels. */
export const TOP = 20;
const BAR = 12;
/** Height of a bar that represents only waiting. */
const THIN = 3;
/** Space for the axis's last label. */
const RIGHT = 44;

export interface Drawing {
  readonly lanes: readonly Lane[];
  /** Start of the session, where the axis begins. */
  readonly zero: number;
  /** The lane and the span that were chosen with the keyboard. */
  readonly currentLane: Lane | undefined;
  readonly current: Span | undefined;
  readonly range: Range;
  /** Time at which open spans end in the drawing. */
  readonly end: number;
  /** Times at which a process was lost while agents were working. */
  readonly losses: readonly number[];
  readonly selected: AgentId;
  /** Range that the user is selecting by dragging, in pixels. */
  readonly drag: { readonly from: number; readonly to: number } | undefined;
  readonly width: number;
  readonly height: number;
  /** Number of pixels by which the lanes are scrolled. */
  readonly top: number;
}

/** Returns the width of the labels. */
export function leftOf(width: number): number {
  return Math.min(200, Math.max(148, width * 0.3));
}

/** Draws the visible lanes. Bars that cover the same pixels are drawn once. */
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

  drawAxis(context, drawing, color);
  for (const lane of lanes) {
    const y = TOP + lane.y - top;
    if (y > height) break;
    if (y + lane.height < TOP) continue;
    const isSelected = "agentId" in lane && lane.agentId === selected;
    if (isSelected || (lane === drawing.currentLane && "group" in lane)) {
      context.fillStyle = color("selected");
      context.fillRect(0, y, width, lane.height);
    }
    context.save();
    context.beginPath();
    context.rect(left, Math.max(y, TOP), width - left, lane.height);
    context.clip();
    if ("agentId" in lane) for (const span of lane.spans) drawSpan(context, { span, y, drawing, color });
    else {
      const strip = { spans: lane.spans, left, right: width - RIGHT, y: y + GAP, height: lane.height - 2 * GAP };
      drawDensity(context, { ...strip, colorOf: fillOf, edgesOf: (span) => edgesOf(span, drawing) }, color);
    }
    context.restore();
    context.save();
    context.beginPath();
    context.rect(0, Math.max(y, TOP), left - 12, lane.height);
    context.clip();
    context.fillStyle = color(isSelected || "group" in lane ? "text" : "dim");
    const indent = 16 + 8 * Math.min(lane.depth, 4);
    for (const [row, label] of lane.label.entries()) {
      if (row > 0) context.fillStyle = color("dim");
      context.fillText(fitted(context, label, left - 12 - indent), indent, y + GAP + ROW * (row + 0.5));
    }
    context.restore();
  }
  drawLosses(context, drawing, color);
  if (drag !== undefined) {
    context.fillStyle = color("accent-soft");
    context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), height);
  }
}

/** Returns a function that finds a theme color. Browsers compute colors for elements, but not for variables. */
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

/** Shortens text until it fits. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  // The list of agents has the rest: `17 failed: model error` becomes `17 failed`.
  const [short = ""] = text.split(/: | by | for /, 1);
  if (short !== text && context.measureText(short).width <= width) return short;
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
  const top = y + GAP + span.row * ROW + (ROW - high) / 2;
  context.fillStyle = color(fillOf(span));
  context.beginPath();
  context.roundRect(x, top, wide, high, Math.min(2, wide / 2));
  context.fill();
  // Stripes, so that color is not the only distinction.
  const stripes =
    span.result === "stopped" || span.result === "lost"
      ? "bar-stopped-line"
      : span.kind === "asking" && !span.result
        ? "bar-asking-line"
        : undefined;
  if (stripes !== undefined && wide >= 4) {
    context.save();
    context.clip();
    context.strokeStyle = color(stripes);
    context.lineWidth = 2;
    context.beginPath();
    for (let at = x - BAR; at < x + wide; at += 7) {
      context.moveTo(at, top + BAR);
      context.lineTo(at + BAR, top);
    }
    context.stroke();
    context.restore();
  }
  if (span !== drawing.current) return;
  context.strokeStyle = color("text");
  context.lineWidth = 2;
  context.strokeRect(x - 1, top - 1, wide + 2, high + 2);
}

function fillOf({ result, kind }: Span): string {
  if (result === "failed") return "bar-bad";
  return result === "stopped" || result === "lost" ? "bar-stopped" : `bar-${kind}`;
}

/** Returns the pixels at which a span begins and ends. */
export function edgesOf(
  { start, end }: Pick<Span, "start" | "end">,
  drawing: Pick<Drawing, "range" | "width" | "end">,
): readonly [number, number] {
  const { range, width } = drawing;
  const left = leftOf(width);
  const scale = (width - left - RIGHT) / Math.max(1, range.to - range.from);
  return [left + (start - range.from) * scale, left + ((end ?? drawing.end) - range.from) * scale];
}

/** Returns the time at a pixel. */
export function timeAt(x: number, { range, width }: Pick<Drawing, "range" | "width">): number {
  const left = leftOf(width);
  return range.from + ((x - left) / Math.max(1, width - left - RIGHT)) * (range.to - range.from);
}

const steps = [10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 864e5];

function drawAxis(context: CanvasRenderingContext2D, drawing: Drawing, color: (name: string) => string): void {
  const { range, width, height, zero } = drawing;
  const length = range.to - range.from;
  const step = steps.find((each) => length / each <= Math.max(2, (width - leftOf(width)) / 90)) ?? length;
  context.strokeStyle = color("line");
  context.fillStyle = color("faint");
  context.lineWidth = 1;
  const firstMark = Math.max(0, Math.ceil((range.from - zero) / step));
  for (let time = zero + firstMark * step; time <= range.to; time += step) {
    const [x] = edgesOf({ start: time }, drawing);
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, TOP);
    context.lineTo(Math.round(x) + 0.5, height);
    context.stroke();
    context.fillText(axisWords(time - zero, step), x, TOP / 2);
  }
}

/** Draws a line where a process was lost. */
function drawLosses(context: CanvasRenderingContext2D, drawing: Drawing, color: (name: string) => string): void {
  context.save();
  context.strokeStyle = color("bar-bad");
  context.setLineDash([3, 3]);
  for (const time of drawing.losses) {
    const [x] = edgesOf({ start: time }, drawing);
    if (x < leftOf(drawing.width)) continue;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, TOP);
    context.lineTo(Math.round(x) + 0.5, drawing.height);
    context.stroke();
  }
  context.restore();
}

/** Returns the lane at a point on the canvas. */
export function laneAt({ lanes, top }: Pick<Drawing, "lanes" | "top">, y: number): Lane | undefined {
  const place = y - TOP + top;
  return lanes.find((lane) => place >= lane.y && place < lane.y + lane.height);
}

/** Finds the span at a point on the canvas. If spans overlap, the last one drawn is returned. */
export function spanAt(drawing: Drawing, { x, y }: { readonly x: number; readonly y: number }): Span | undefined {
  const lane = laneAt(drawing, y);
  return lane === undefined || "group" in lane ? undefined : spanIn(lane, drawing, { x, y });
}

function spanIn(
  lane: AgentLane,
  drawing: Drawing,
  { x, y }: { readonly x: number; readonly y: number },
): Span | undefined {
  const row = Math.floor((y - TOP + drawing.top - lane.y - GAP) / ROW);
  const found = lane.spans.filter((span) => {
    const [left, right] = edgesOf(span, drawing);
    return x >= left - 2 && x <= Math.max(right, left + 1.5) + 2;
  });
  return found.findLast((span) => span.row === row) ?? found.at(-1);
}
