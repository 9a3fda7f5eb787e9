import { type ReactNode, useEffect, useRef, useState } from "react";
import { focusNextRequest, requestWanted } from "./approvals/request-wanted.ts";
import { goTo } from "./state/route.ts";

/** Time within which the second key of a sequence must follow. */
const SECOND_KEY_MS = 1_500;

const keys: readonly (readonly [string, string])[] = [
  ["g w", "go to the next request that is waiting for you"],
  ["g s", "go to the sessions"],
  ["y, a, e, n", "answer the request that has the focus"],
  ["Esc", "close a form or this list"],
  ["↑ ↓", "choose an agent in the list"],
  ["→ ←", "open or close a group of agents"],
  ["← → Enter", "choose a bar in the timeline, and open it"],
  ["+ − 0", "zoom the timeline, or show all of it"],
  ["Enter, Ctrl+Enter", "send a message, or send it before the queue"],
  ["?", "show this list"],
];

/** Handles the keys that work everywhere, and lists all keys. */
export function Keys({ hasRequestsHere }: { readonly hasRequestsHere: boolean }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let firstAt = 0;
    const onKeyDown = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
      const isSecond = event.timeStamp - firstAt < SECOND_KEY_MS;
      firstAt = event.key === "g" ? event.timeStamp : 0;
      if (event.key === "?") setIsOpen(true);
      else if (isSecond && event.key === "s") goTo({ page: "sessions" });
      else if (isSecond && event.key === "w" && !focusNextRequest()) {
        requestWanted.set(true);
        if (!hasRequestsHere) goTo({ page: "inbox" });
      }
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [hasRequestsHere]);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  if (!isOpen) return null;
  return (
    <dialog ref={dialog} className="keys" aria-label="Keys" onClose={() => setIsOpen(false)}>
      <h2>Keys</h2>
      <dl>
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">
          Close <kbd>Esc</kbd>
        </button>
      </form>
    </dialog>
  );
}
