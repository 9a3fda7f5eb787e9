import { type KeyboardEvent, type PointerEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";

const KEY = "retinue-timeline-height";
/** Limits in pixels. The conversation keeps the rest of the window. */
const LEAST = 120;
const REST = 380;
const STEP = 24;

/** Changes the height of the timeline, by mouse or with the arrow keys, and remembers it. */
export function ResizeHandle(): ReactNode {
  const handle = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(storedHeight);
  useLayoutEffect(() => {
    const value = height === undefined ? null : `${height}px`;
    handle.current?.parentElement?.style.setProperty("--timeline-height", value);
  }, [height]);
  const change = (wanted: number | undefined): void => {
    const chosen = wanted === undefined ? undefined : Math.round(Math.max(LEAST, Math.min(wanted, most())));
    if (chosen === undefined) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, String(chosen));
    setHeight(chosen);
  };
  const onPointerDown = (event: PointerEvent<HTMLElement>): void => {
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent<HTMLElement>): void => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) change(window.innerHeight - event.clientY);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const now = shownHeight(event.currentTarget);
    const heights: Readonly<Record<string, number | undefined>> = {
      ArrowUp: now + STEP,
      ArrowDown: now - STEP,
      Home: LEAST,
      End: most(),
      Enter: undefined,
    };
    if (!(event.key in heights)) return;
    event.preventDefault();
    change(heights[event.key]);
  };
  return (
    <div
      ref={handle}
      className="resize-handle"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the timeline"
      aria-valuemin={LEAST}
      aria-valuemax={most()}
      aria-valuenow={height ?? usualHeight()}
      title="Drag, or use the arrow keys, to change the height. Double-click or Enter resets it."
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onDoubleClick={() => change(undefined)}
      onKeyDown={onKeyDown}
    />
  );
}

function storedHeight(): number | undefined {
  const stored = Number(localStorage.getItem(KEY));
  return stored >= LEAST ? stored : undefined;
}

function shownHeight(handle: HTMLElement): number {
  return handle.nextElementSibling?.getBoundingClientRect().height ?? usualHeight();
}

/** The height that the style sheet sets if none was chosen. */
function usualHeight(): number {
  return Math.round(Math.max(232, Math.min(0.32 * window.innerHeight, 440)));
}

function most(): number {
  return Math.max(LEAST, window.innerHeight - REST);
}
