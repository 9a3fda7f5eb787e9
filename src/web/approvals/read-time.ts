import { type FocusEvent, useCallback, useEffect, useRef, useState } from "react";

/** How long a request must stay in its place before it can be answered. The terminal interface waits just as long. */
const READ_MS = 300;

/** Tells whether a request has been visible long enough to be answered. */
interface ReadTime {
  readonly isReady: boolean;
  /** Restarts the time, because a key was pressed too early. */
  readonly restart: () => void;
  /** Handlers for the element that shows the request. */
  readonly handlers: {
    readonly onPointerDown: () => void;
    readonly onFocus: (event: FocusEvent<HTMLElement>) => void;
  };
}

/**
 * Prevents answers to a request that users can't have read yet: the second of two keypresses in quick succession, or a
 * click on a request that has just moved under the pointer. The time restarts when the request is shown, when it moves,
 * and when it receives focus by anything other than a click.
 */
export function useReadTime(place: string): ReadTime {
  const [readyAt, setReadyAt] = useState<string>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isClicked = useRef(false);
  const restart = useCallback(() => {
    clearTimeout(timer.current);
    setReadyAt(undefined);
    timer.current = setTimeout(() => setReadyAt(place), READ_MS);
  }, [place]);
  useEffect(() => {
    restart();
    return () => clearTimeout(timer.current);
  }, [restart]);
  return {
    isReady: readyAt === place,
    restart,
    handlers: {
      onPointerDown: () => {
        isClicked.current = true;
      },
      onFocus: ({ currentTarget, relatedTarget }) => {
        const isFromOutside = !(relatedTarget instanceof Node && currentTarget.contains(relatedTarget));
        if (isFromOutside && !isClicked.current) restart();
        isClicked.current = false;
      },
    },
  };
}
