import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Span, Spans } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { useNow } from "../state/clock.ts";
import { goTo } from "../state/route.ts";
import { useColors } from "../state/theme.ts";
import { type Drawing, drawWaterfall, laneAt, leftOf, type Range, spanAt, TOP, timeAt } from "./draw-waterfall.ts";
import { focusedCall, focusedTurn } from "./focused-call.ts";
import { groupWords, type Lane, lanesOf, spanWords } from "./lanes.ts";
import { useSessionId } from "./session-context.ts";
import type { GroupRow, TreeRow } from "./tree-rows.ts";

interface WaterfallProps {
  /** Buttons that choose what the region shows. */
  readonly tabs: ReactNode;
  readonly isRunning: boolean;
  /** The agents and groups to show, as in the tree. */
  readonly rows: readonly TreeRow[];
  readonly onToggle: (group: GroupRow) => void;
  readonly spans: Spans;
  readonly selected: AgentId;
}

interface Hovered {
  readonly words: readonly string[];
  readonly x: number;
  readonly y: number;
}

/**
 * Turns and calls of all agents over time, one lane each, with a row for each of the calls that ran at the same time.
 * A group of many agents has a strip that shows how many of them were busy. Dragging zooms, and a click opens a call, a
 * turn or a group. With the keys, one walks from bar to bar.
 */
export function Waterfall({ tabs, isRunning, rows, onToggle, spans, selected }: WaterfallProps): ReactNode {
  const id = useSessionId();
  const now = useNow();
  useColors();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [zoom, setZoom] = useState<Range>();
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const [hovered, setHovered] = useState<Hovered>();
  /** Place that the keys have reached: the key of a lane, and a bar if it is the lane of an agent. */
  const [place, setPlace] = useState<{ readonly key: string; readonly span?: Span | undefined }>();
  const [size, setSize] = useState({ width: 0, height: 0, top: 0 });
  const lanes = useMemo(() => lanesOf(rows, spans), [rows, spans.version]);
  const end = isRunning ? Math.max(spans.end, now) : spans.end;
  const whole: Range = { from: spans.start, to: Math.max(end, spans.start + 1) };
  const range = zoom ?? whole;
  const times = { zero: spans.start, end };
  const current = place?.span;
  const currentLane = place && lanes.find((lane) => keyOf(lane) === place.key);
  const drawing: Drawing = { lanes, ...times, range, selected, drag, currentLane, current, ...size };
  const last = lanes.at(-1);
  const selectedLane = lanes.find((lane) => keyOf(lane) === selected);
  const selectedTop = selectedLane?.y;

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const measure = (): void =>
      setSize({ width: element.clientWidth, height: element.clientHeight, top: element.scrollTop });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  useEffect(() => {
    if (selectedLane !== undefined) scrollTo(scroller.current, selectedLane);
  }, [selected, selectedTop === undefined]);
  useEffect(() => {
    if (canvas.current !== null) drawWaterfall(canvas.current, drawing);
  });

  const at = ({ nativeEvent }: PointerEvent): { readonly x: number; readonly y: number } => ({
    x: nativeEvent.offsetX,
    y: nativeEvent.offsetY,
  });
  const open = (agentId: AgentId, span: Span | undefined): void => {
    goTo({ page: "session", id, agent: agentId });
    focusedCall.set(span?.callId ?? span?.firstCallId);
    focusedTurn.set(span?.firstCallId === undefined ? span?.turn : undefined);
  };
  /** Shows part of the time, within the session's duration. */
  const show = (from: number, to: number): void => {
    const length = Math.min(whole.to - whole.from, Math.max(20, to - from));
    const start = Math.max(whole.from, Math.min(whole.to - length, from));
    setZoom(length >= whole.to - whole.from ? undefined : { from: start, to: start + length });
  };
  const wordsAt = ({ x, y }: { readonly x: number; readonly y: number }): readonly string[] | undefined => {
    const lane = laneAt(drawing, y);
    if (lane !== undefined && "group" in lane)
      return groupWords(lane, times, x > leftOf(size.width) ? timeAt(x, drawing) : undefined);
    const span = spanAt(drawing, { x, y });
    return span && spanWords(span, times);
  };
  const onPointerMove = (event: PointerEvent): void => {
    const { x, y } = at(event);
    if (drag !== undefined) setDrag({ from: drag.from, to: x });
    const words = wordsAt({ x, y });
    setHovered(words && { words, x, y });
  };
  const onPointerUp = (event: PointerEvent): void => {
    const { x, y } = at(event);
    setDrag(undefined);
    if (drag !== undefined && Math.abs(x - drag.from) > 4) {
      const [from = 0, to = 0] = [timeAt(drag.from, drawing), timeAt(x, drawing)].sort((one, other) => one - other);
      show(from, to);
      return;
    }
    const lane = laneAt(drawing, y);
    if (lane === undefined) return;
    if ("group" in lane) onToggle(lane.group);
    else open(lane.agentId, spanAt(drawing, { x, y }));
  };
  /** Moves to another bar in the lane, or to the first bar of another lane. */
  const walk = (lanesOn: number, barsOn: number): void => {
    const from = lanes.indexOf(currentLane ?? selectedLane ?? (lanes[0] as Lane));
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, from + lanesOn))];
    if (lane === undefined) return;
    scrollTo(scroller.current, lane);
    if ("group" in lane) {
      if (barsOn !== 0 && lane.group.isOpen !== barsOn > 0) onToggle(lane.group);
      setPlace({ key: keyOf(lane) });
      return;
    }
    const index = lanesOn !== 0 || current === undefined ? -1 : lane.spans.indexOf(current);
    const next = lane.spans[index === -1 ? 0 : Math.max(0, Math.min(lane.spans.length - 1, index + barsOn))];
    setPlace({ key: keyOf(lane), span: next });
    if (next !== undefined && (next.start < range.from || next.start > range.to))
      show(next.start, next.start + range.to - range.from);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const length = range.to - range.from;
    const change = (from: number, to: number): void => show(range.from + from * length, range.to + to * length);
    const enter = (lane: Lane): void => ("group" in lane ? onToggle(lane.group) : open(lane.agentId, current));
    const moves: Readonly<Record<string, () => void>> = {
      "+": () => change(0.25, -0.25),
      "-": () => change(-0.5, 0.5),
      "0": () => setZoom(undefined),
      ArrowLeft: () => (event.shiftKey ? change(-0.2, -0.2) : walk(0, -1)),
      ArrowRight: () => (event.shiftKey ? change(0.2, 0.2) : walk(0, 1)),
      ArrowUp: () => walk(-1, 0),
      ArrowDown: () => walk(1, 0),
      Enter: () => currentLane && enter(currentLane),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  return (
    <>
      <div className="time-head">
        {tabs}
        <span className="key model">model</span>
        <span className="key tool">tool</span>
        <span className="key agents">waiting for agents</span>
        <span className="key asking">waiting for you</span>
        <span className="key stopped">stopped</span>
        <span className="key failed">failed</span>
        <span className="space" />
        {zoom === undefined ? (
          <span className="dim wide-only">Drag to zoom</span>
        ) : (
          <button type="button" className="quiet" onClick={() => setZoom(undefined)}>
            Show all <kbd>0</kbd>
          </button>
        )}
      </div>
      <div
        className="waterfall"
        ref={scroller}
        role="group"
        tabIndex={0}
        aria-label="Timeline. Arrow keys walk from bar to bar, Enter opens a bar or a group, plus and minus zoom, 0 shows all."
        onKeyDown={onKeyDown}
        onBlur={() => setPlace(undefined)}
      >
        <canvas
          ref={canvas}
          onPointerDown={(event) => {
            const { x } = at(event);
            if (x > leftOf(size.width)) setDrag({ from: x, to: x });
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => {
            setHovered(undefined);
            setDrag(undefined);
          }}
        />
        <div style={{ height: Math.max(0, TOP + (last === undefined ? 0 : last.y + last.height) - size.height) }} />
        {hovered !== undefined && (
          <div
            className="tip"
            style={{ left: Math.min(hovered.x + 12, size.width - 180), top: hovered.y + size.top + 14 }}
          >
            {hovered.words.map((line) => (
              <div key={line}>{line}</div>
            ))}
          </div>
        )}
      </div>
      <p className="hidden" role="status">
        {currentLane && placeWords(currentLane, current, times).join(", ")}
      </p>
    </>
  );
}

/** Returns what identifies a lane when the lanes have changed. */
function keyOf(lane: Lane): string {
  return "group" in lane ? lane.group.key : lane.agentId;
}

/** Describes the place that the keys have reached. */
function placeWords(lane: Lane, span: Span | undefined, times: Parameters<typeof spanWords>[1]): readonly string[] {
  if ("group" in lane) return groupWords(lane, times);
  return [...lane.label, ...(span === undefined ? [] : spanWords(span, times))];
}

/** Scrolls until a lane is visible. */
function scrollTo(element: HTMLDivElement | null, { y, height }: Pick<Lane, "y" | "height">): void {
  if (element === null) return;
  const room = element.clientHeight - TOP;
  if (y < element.scrollTop) element.scrollTop = y;
  else if (y + height > element.scrollTop + room) element.scrollTop = y + height - room;
}
