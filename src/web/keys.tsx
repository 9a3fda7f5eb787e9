import { type ReactNode, useEffect, useRef, useState } from "react";
import { focusNextRequest, requestWanted } from "./approvals/request-wanted.ts";
import { focusPlace, isPlace } from "./session/places.ts";
import { goTo } from "./state/route.ts";

/** Time within which the second key of a sequence must follow. */
const SECOND_KEY_MS = 1_500;

const keys: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  Everywhere: [
    ["g w", "go to the next request that is waiting for you"],
    ["g s", "go to the sessions"],
    ["?", "show this list"],
    ["Esc", "close a form or a dialog"],
  ],
  "In a session": [
    ["g m", "write a message"],
    ["g l", "go to the list of agents"],
    ["g c", "go to the conversation"],
    ["g t", "go to the timeline"],
    ["g d", "go to the details"],
  ],
  "A request": [
    ["y", "allow the call once"],
    ["a", "allow it, and add the rule that is shown"],
    ["e", "change the call before it is allowed"],
    ["n", "deny it"],
    ["Ctrl+Enter", "allow the changed call"],
  ],
  "List of agents": [
    ["↑ ↓ Home End", "choose an agent or a group"],
    ["→ ← Enter", "open or close a group"],
  ],
  Timeline: [
    ["↑ ↓ ← →", "choose a bar"],
    ["Enter", "open a bar, or show the agents of a group"],
    ["+ − 0", "zoom, or show everything"],
    ["Shift+← Shift+→", "move"],
    ["↑ ↓", "on the line above: change the height"],
  ],
  Usage: [
    ["← → Home End", "choose a turn"],
    ["Enter", "open a turn"],
  ],
  "A message": [
    ["Enter", "send it, or queue it while the main agent is working"],
    ["Ctrl+Enter", "send it ahead of the queue"],
    ["Shift+Enter", "add a line"],
  ],
};

/** Handles the keys that work everywhere, and lists all keys. */
export function Keys({ hasRequestsHere }: { readonly hasRequestsHere: boolean }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let firstAt = Number.NEGATIVE_INFINITY;
    const onKeyDown = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
      // The page behind a dialog can't be used.
      if (document.querySelector("dialog[open]") !== null) return;
      const { key } = event;
      const isSecond = event.timeStamp - firstAt < SECOND_KEY_MS;
      firstAt = key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (key === "?") setIsOpen(true);
      else if (isSecond && key === "s") goTo({ page: "sessions" });
      else if (isSecond && isPlace(key)) focusPlace(key);
      else if (isSecond && key === "w" && !focusNextRequest()) {
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
      <div className="key-lists">
        {Object.entries(keys).map(([where, list]) => (
          <section key={where}>
            <h3>{where}</h3>
            <dl>
              {list.map(([key, meaning]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <form method="dialog">
        <button type="submit">
          Close <kbd>Esc</kbd>
        </button>
      </form>
    </dialog>
  );
}
