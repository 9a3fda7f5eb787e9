import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Span, Spans } from "../../../client/index.ts";
import type { AgentId } from "../../../protocol/index.ts";
import { useNow } from "../../state/clock.ts";
import { goTo } from "../../state/route.ts";
import { useColors } from "../../state/theme.ts";
import { focusedCall, focusedTurn, turnKey } from "../conversation/focused-call.ts";
import { showRegion } from "../places.ts";
import { useSessionId } from "../session-context.ts";
import type { GroupRow, TreeRow } from "../tree/tree-rows.ts";
import { type Drawing, drawWaterfall, edgesOf, laneAt, leftOf, spanAt, TOP, timeAt } from "./draw-waterfall.ts";
import { GAP, groupWords, type Lane, lanesOf, type Range, ROW, spanWords, zoomed } from "./lanes.ts";

interface WaterfallProps {
  /** Buttons that choose what the region shows. */
  readonly tabs: ReactNode;
  readonly isRunning: boolean;
  /** Whether the page is connected to the session. Without a connection, it is unknown what is still running. */
  readonly isConnected: boolean;
  /** The agents and groups to show, as in the tree. */
  readonly rows: readonly TreeRow[];
  readonly onToggle: (group: GroupRow) => void;
  readonly spans: Spans;
  readonly selected: AgentId;
  /** The session's directory. */
  readonly cwd: string | undefined;
}

/** Lines of text about a place in the drawing, and the point next to which they are shown. */
interface TipPlace {
  readonly words: readonly string[];
  readonly x: number;
  readonly y: number;
}

/**
 * Shows all agents' turns and calls over time, with one lane for each agent and one row for each simultaneous call. A
 * group of many agents has a strip that shows how many of them were busy. Dragging zooms, and a click opens a call, a
 * turn or a group. The arrow keys move from bar to bar.
 */
export function Waterfall({
  tabs,
  isRunning,
  isConnected,
  rows,
  onToggle,
  spans,
  selected,
  cwd,
}: WaterfallProps): ReactNode {
  const id = useSessionId();
  const now = useNow();
  useColors();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [zoom, setZoom] = useState<Range>();
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const [hovered, setHovered] = useState<TipPlace>();
  /** Time at the pointer. */
  const pointedAt = useRef<number>(undefined);
  /** Place that the user has reached with the keyboard: the key of a lane, and a bar if it is an agent's lane. */
  const [place, setPlace] = useState<{ readonly key: string; readonly span?: Span | undefined }>();
  const [size, setSize] = useState({ width: 0, height: 0, top: 0 });
  const lanes = useMemo(() => lanesOf(rows, spans), [rows, spans.version]);
  const knownAt = useRef(0);
  if (isConnected) knownAt.current = now;
  const end = isRunning ? Math.max(spans.end, knownAt.current) : spans.end;
  const whole: Range = { from: spans.start, to: Math.max(end, spans.start + 1) };
  const range = zoom ?? whole;
  const times = { zero: spans.start, end, cwd };
  const current = place?.span;
  const currentLane = place && lanes.find((lane) => keyOf(lane) === place.key);
  const { losses } = spans;
  const zero = spans.start;
  const drawing: Drawing = { lanes, zero, end, losses, range, selected, drag, currentLane, current, ...size };
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
    showRegion("talk");
    focusedCall.set(span?.callId ?? span?.firstCallId);
    const { turn, firstCallId } = span ?? {};
    focusedTurn.set(turn === undefined || firstCallId !== undefined ? undefined : turnKey(agentId, turn));
  };
  /** Shows a range of time, within the session's duration. */
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
    pointedAt.current = x > leftOf(size.width) ? timeAt(x, drawing) : undefined;
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
  const chosen: TipPlace | undefined = currentLane && {
    words: placeWords(currentLane, current, times),
    ...pointOf(currentLane, current, drawing),
  };
  const tip = hovered ?? chosen;
  const onKeyDown = (event: KeyboardEvent): void => {
    const length = range.to - range.from;
    const change = (from: number, to: number): void => show(range.from + from * length, range.to + to * length);
    const zoomBy = (factor: number): void => {
      const { from, to } = zoomed(range, factor, current === undefined ? pointedAt.current : middleOf(current));
      show(from, to);
    };
    const middleOf = ({ start, end: until = end }: Span): number =>
      (Math.max(start, range.from) + Math.min(until, range.to)) / 2;
    const enter = (lane: Lane): void => ("group" in lane ? onToggle(lane.group) : open(lane.agentId, current));
    const moves: Readonly<Record<string, () => void>> = {
      "+": () => zoomBy(0.5),
      "=": () => zoomBy(0.5),
      "-": () => zoomBy(2),
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
        <span className="key failed">failed</span>
        <span className="key agents">waiting for agents</span>
        <span className="key asking">waiting for you</span>
        <span className="key stopped">stopped</span>
        {losses.length > 0 && <span className="key lost">process lost</span>}
      </div>
      <div className="waterfall-frame">
        {/* Placed beside the axis, so that the legend does not move. */}
        {zoom === undefined ? (
          <span className="zoom-note dim wide-only">Drag to zoom</span>
        ) : (
          <button type="button" className="zoom-note quiet" onClick={() => setZoom(undefined)}>
            Show all <kbd>0</kbd>
          </button>
        )}
        <div
          className="waterfall"
          ref={scroller}
          role="group"
          tabIndex={0}
          aria-label="Timeline. Arrow keys move from bar to bar, Enter opens a bar or a group, plus and minus zoom, 0 shows all."
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
              pointedAt.current = undefined;
              setHovered(undefined);
              setDrag(undefined);
            }}
          />
          <div style={{ height: Math.max(0, TOP + (last === undefined ? 0 : last.y + last.height) - size.height) }} />
        </div>
        {tip !== undefined && <Tip place={tip} width={size.width} height={size.height} />}
      </div>
      <p className="hidden" role="status">
        {chosen?.words.join(", ")}
      </p>
    </>
  );
}

interface TipProps {
  readonly place: TipPlace;
  /** Size of the drawing. */
  readonly width: number;
  readonly height: number;
}

/** Shows text next to a point, on the side where there is more space. */
function Tip({ place: { words, x, y }, width, height }: TipProps): ReactNode {
  const across = x > width / 2 ? { right: width - x + 12 } : { left: x + 12 };
  const along = y > height / 2 ? { bottom: height - y + 10 } : { top: y + 14 };
  return (
    <div className="tip" aria-hidden="true" style={{ ...across, ...along }}>
      {words.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}

/** Returns the point at which a chosen bar or lane is drawn. */
function pointOf(lane: Lane, span: Span | undefined, drawing: Drawing): Pick<TipPlace, "x" | "y"> {
  const left = leftOf(drawing.width);
  const y = TOP + lane.y - drawing.top + GAP + ((span?.row ?? 0) + 0.5) * ROW;
  if (span === undefined) return { x: left, y };
  const [from, to] = edgesOf(span, drawing);
  return { x: Math.max(left, Math.min(drawing.width, (from + to) / 2)), y };
}

/** Returns a key that still identifies a lane when the lanes have changed. */
function keyOf(lane: Lane): string {
  return "group" in lane ? lane.group.key : lane.agentId;
}

/** Describes the place that the user has reached with the keyboard. */
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
