import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type AgentView, inTreeOrder, type SessionView } from "../../client/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import { formatMs } from "../parts/format.ts";
import { useNow } from "../state/clock.ts";
import { goTo } from "../state/route.ts";
import { nameOf } from "./agent-words.ts";
import { type Drawing, drawWaterfall, LANE, leftOf, type Range, spanAt, TOP } from "./draw-waterfall.ts";
import { focusedCall } from "./focused-call.ts";
import { useSessionId } from "./session-context.ts";
import type { Span, Spans } from "./spans.ts";

interface WaterfallProps {
  readonly view: SessionView;
  readonly spans: Spans;
  readonly selected: AgentId;
}

interface Hovered {
  readonly span: Span;
  readonly x: number;
  readonly y: number;
}

/** Turns and calls of all agents over time, one lane each. Dragging zooms, and a click opens a call. */
export function Waterfall({ view, spans, selected }: WaterfallProps): ReactNode {
  const id = useSessionId();
  const isRunning = view.running.length > 0;
  const now = useNow();
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [zoom, setZoom] = useState<Range>();
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const [hovered, setHovered] = useState<Hovered>();
  const [size, setSize] = useState({ width: 0, height: 0, top: 0 });
  const agents = useMemo(() => inTreeOrder(view).filter(({ agentId }) => spans.lanes.has(agentId)), [view, spans]);
  const end = isRunning ? Math.max(spans.end, now) : spans.end;
  const range = zoom ?? { from: spans.start, to: Math.max(end, spans.start + 1000) };
  const drawing: Drawing = { lanes: agents.map((agent) => laneOf(agent, spans)), range, end, selected, drag, ...size };

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
    if (canvas.current !== null) drawWaterfall(canvas.current, drawing);
  });

  const at = ({ nativeEvent }: PointerEvent): { readonly x: number; readonly y: number } => ({
    x: nativeEvent.offsetX,
    y: nativeEvent.offsetY,
  });
  const timeAt = (x: number): number => {
    const left = leftOf(size.width);
    return range.from + ((x - left) / Math.max(1, size.width - left)) * (range.to - range.from);
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
      const times = [timeAt(drag.from), timeAt(x)].sort((one, other) => one - other);
      setZoom({ from: times[0] ?? 0, to: Math.max(times[1] ?? 0, (times[0] ?? 0) + 20) });
      return;
    }
    const agent = agents[Math.floor((y - TOP + size.top) / LANE)];
    if (agent === undefined) return;
    goTo({ page: "session", id, agent: agent.agentId });
    focusedCall.set(spanAt(drawing, { x, y })?.callId);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const length = range.to - range.from;
    const change = (from: number, to: number): void =>
      setZoom({ from: range.from + from * length, to: range.to + to * length });
    const moves: Readonly<Record<string, () => void>> = {
      "+": () => change(0.25, -0.25),
      "-": () => change(-0.5, 0.5),
      ArrowLeft: () => change(-0.2, -0.2),
      ArrowRight: () => change(0.2, 0.2),
      "0": () => setZoom(undefined),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  return (
    <>
      <div className="time-head">
        <h2>Timeline</h2>
        <span className="key model">model</span>
        <span className="key tool">tool</span>
        <span className="key agents">waiting for agents</span>
        <span className="key asking">waiting for you</span>
        <span className="space" />
        {zoom === undefined ? (
          <span className="dim wide-only">Drag to zoom, click to open</span>
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
        aria-label="Timeline. Plus and minus zoom, arrow keys move, 0 shows all."
        onKeyDown={onKeyDown}
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
        <div style={{ height: Math.max(0, TOP + agents.length * LANE - size.height) }} />
        {hovered !== undefined && (
          <div
            className="tip"
            style={{ left: Math.min(hovered.x + 12, size.width - 180), top: hovered.y + size.top + 14 }}
          >
            {hovered.span.kind === "asking" ? `${hovered.span.name}, waiting for you` : hovered.span.name}{" "}
            <span className="number">{formatMs((hovered.span.end ?? end) - hovered.span.start)}</span>
          </div>
        )}
      </div>
    </>
  );
}

function laneOf(agent: AgentView, { lanes }: Spans): Drawing["lanes"][number] {
  return {
    agentId: agent.agentId,
    label: nameOf(agent),
    depth: agent.path.length,
    spans: lanes.get(agent.agentId) ?? [],
  };
}
