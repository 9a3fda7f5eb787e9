import { type MouseEvent, type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import type { AgentView } from "../../../client/index.ts";

/** Distance from the end, in pixels, within which new items are scrolled into view. */
const NEAR = 80;

interface Following {
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
  readonly onClick: (event: MouseEvent) => void;
  readonly onWheel: () => void;
  readonly onPointerDown: () => void;
  readonly onKeyDown: () => void;
}

/**
 * Returns the properties of an element that scrolls with a conversation while the reader is at its end. A call or a turn
 * that the reader has chosen elsewhere (`isSought`) stays in view instead, until the reader scrolls.
 */
export function useFollowing({ items, draft }: Pick<AgentView, "items" | "draft">, isSought: boolean): Following {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const isHeld = useRef(false);
  const follow = (): void => {
    const element = ref.current;
    if (element === null) return;
    const { activeElement } = document;
    if (!isHeld.current) {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    } else if (activeElement !== element && element.contains(activeElement))
      activeElement?.scrollIntoView({ block: "nearest" });
  };
  const release = (): void => {
    isHeld.current = false;
  };
  const onScroll = (): void => {
    const element = ref.current;
    if (element !== null) isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
  };
  useLayoutEffect(() => {
    if (isSought) isHeld.current = true;
  }, [isSought]);
  // Only new content scrolls the page: a call that the user opens stays where it is.
  useLayoutEffect(follow, [items, draft]);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    ref,
    onScroll,
    onClick: ({ target }) => {
      const call = (target as Element).closest("summary")?.parentElement;
      // A call that the reader opens stays in view, even if the conversation grows.
      if (call instanceof HTMLDetailsElement) isHeld.current = !call.open;
      requestAnimationFrame(onScroll);
    },
    onWheel: release,
    onPointerDown: release,
    onKeyDown: release,
  };
}
