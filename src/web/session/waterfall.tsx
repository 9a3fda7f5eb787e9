import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { AgentView, Span, Spans } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { formatCost, formatMs, formatTokens } from "../parts/format.ts";
import { useNow } from "../state/clock.ts";
import { goTo } from "../state/route.ts";
import { nameOf } from "./agent-words.ts";
import {
  axisWords,
  type Drawing,
  drawWaterfall,
  heightOf,
  type Lane,
  laneAt,
  leftOf,
  type Range,
  spanAt,
  TOP,
  timeAt,
} from "./draw-waterfall.ts";
import { focusedCall, focusedTurn } from "./focused-call.ts";
import { useSessionId } from "./session-context.ts";

interface WaterfallProps {
  /** Buttons that choose what the region shows. */
  readonly tabs: ReactNode;
  readonly isRunning: boolean;
  /** The agents to show, in the order of the tree. */
  readonly agents: readonly AgentView[];
  readonly spans: Spans;
  readonly selected: AgentId;
}

interface Hovered {
  readonly span: Span;
  readonly x: number;
  readonly y: number;
}

/**
 * Turns and calls of all agents over time, one lane each, with a row for each of the calls that ran at the same time.
 * Dragging zooms, and a click opens a call or a turn. With the keys, one walks from bar to bar.
 */
export function Waterfall({ tabs, isRunning, agents, spans, selected }: WaterfallProps): ReactNode {
  const id = useSessionId();
  const now = useNow();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [zoom, setZoom] = useState<Range>();
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const [hovered, setHovered] = useState<Hovered>();
  const [current, setCurrent] = useState<Span>();
  const [size, setSize] = useState({ width: 0, height: 0, top: 0 });
  const lanes = useMemo(() => lanesOf(agents, spans), [agents, spans.version]);
  const end = isRunning ? Math.max(spans.end, now) : spans.end;
  const whole: Range = { from: spans.start, to: Math.max(end, spans.start + 1) };
  const range = zoom ?? whole;
  const drawing: Drawing = { lanes, zero: spans.start, range, end, selected, drag, current, ...size };
  const last = lanes.at(-1);
  const selectedLane = lanes.find(({ agentId }) => agentId === selected);
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
  /** Shows a part of the time, within the time that there is. */
  const show = (from: number, to: number): void => {
    const length = Math.min(whole.to - whole.from, Math.max(20, to - from));
    const start = Math.max(whole.from, Math.min(whole.to - length, from));
    setZoom(length >= whole.to - whole.from ? undefined : { from: start, to: start + length });
  };
  const onPointerMove = (event: PointerEvent): void => {
    const { x, y } = at(event);
    if (drag !== undefined) setDrag({ from: drag.from, to: x });
    const span = spanAt(drawing, { x, y });
    setHovered(span && { span, x, y });
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
    if (lane !== undefined) open(lane.agentId, spanAt(drawing, { x, y }));
  };
  /** Moves to another bar of the lane, or to the first bar of another lane. */
  const walk = (lanesOn: number, barsOn: number): void => {
    const at = lanes.findIndex(({ spans: all }) => current !== undefined && all.includes(current));
    const from = at === -1 ? lanes.findIndex(({ agentId }) => agentId === selected) : at;
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, from + lanesOn))];
    if (lane === undefined) return;
    const index = at === -1 || lanesOn !== 0 || current === undefined ? -1 : lane.spans.indexOf(current);
    const next = lane.spans[index === -1 ? 0 : Math.max(0, Math.min(lane.spans.length - 1, index + barsOn))];
    setCurrent(next);
    scrollTo(scroller.current, lane);
    if (next !== undefined && (next.start < range.from || next.start > range.to))
      show(next.start, next.start + range.to - range.from);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const length = range.to - range.from;
    const change = (from: number, to: number): void => show(range.from + from * length, range.to + to * length);
    const lane = lanes.find(({ spans: all }) => current !== undefined && all.includes(current));
    const moves: Readonly<Record<string, () => void>> = {
      "+": () => change(0.25, -0.25),
      "-": () => change(-0.5, 0.5),
      "0": () => setZoom(undefined),
      ArrowLeft: () => (event.shiftKey ? change(-0.2, -0.2) : walk(0, -1)),
      ArrowRight: () => (event.shiftKey ? change(0.2, 0.2) : walk(0, 1)),
      ArrowUp: () => walk(-1, 0),
      ArrowDown: () => walk(1, 0),
      Enter: () => lane && open(lane.agentId, current),
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
        aria-label="Timeline. Arrow keys walk from bar to bar, Enter opens, plus and minus zoom, 0 shows all."
        onKeyDown={onKeyDown}
        onBlur={() => setCurrent(undefined)}
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
            {spanWords(hovered.span, { zero: spans.start, end }).map((line) => (
              <div key={line}>{line}</div>
            ))}
          </div>
        )}
      </div>
      <p className="hidden" role="status">
        {current && [laneName(lanes, current), ...spanWords(current, { zero: spans.start, end })].join(", ")}
      </p>
    </>
  );
}

function laneName(lanes: readonly Lane[], span: Span): string {
  return lanes.find(({ spans }) => spans.includes(span))?.label ?? "";
}

/** Describes a bar: what it is, when it was, and what it took. */
function spanWords(span: Span, { zero, end }: { readonly zero: number; readonly end: number }): readonly string[] {
  const until = span.end ?? end;
  const what = span.kind === "asking" ? `${span.name}, waiting for you` : span.name;
  const range = `${axisWords(span.start - zero)} to ${axisWords(until - zero)}`;
  const spent = span.tokens === undefined ? [] : [`${formatTokens(span.tokens)} tokens, ${formatCost(span.costUsd)}`];
  return [
    `${what}${span.result === undefined ? "" : `, ${span.result}`}`,
    `${formatMs(until - span.start)}, from ${range}`,
    ...spent,
  ];
}

/** Returns the lanes of the agents that have begun, one below the other. */
function lanesOf(agents: readonly AgentView[], { lanes }: Spans): readonly Lane[] {
  let y = 0;
  return agents.flatMap((agent): readonly Lane[] => {
    const { spans } = lanes.get(agent.agentId) ?? {};
    if (spans === undefined) return [];
    const rows = spans.reduce((most, { row }) => Math.max(most, row + 1), 1);
    const lane = {
      agentId: agent.agentId,
      label: nameOf(agent),
      depth: agent.path.length,
      spans,
      y,
      height: heightOf(rows),
    };
    y += lane.height;
    return [lane];
  });
}

/** Scrolls until a lane is visible. */
function scrollTo(element: HTMLDivElement | null, { y, height }: Pick<Lane, "y" | "height">): void {
  if (element === null) return;
  const room = element.clientHeight - TOP;
  if (y < element.scrollTop) element.scrollTop = y;
  else if (y + height > element.scrollTop + room) element.scrollTop = y + height - room;
}
