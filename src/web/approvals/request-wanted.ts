import { createStore } from "../state/store.ts";

/** Whether the user wants to go to the next request. The list of requests moves the focus there. */
export const requestWanted = createStore(false);

/** Moves the focus to the request after the one that has the focus. Returns false if the page shows no request. */
export function focusNextRequest(): boolean {
  const cards = [...document.querySelectorAll<HTMLElement>("[data-request]")].filter((card) => card.checkVisibility());
  const current = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[(current + 1) % Math.max(1, cards.length)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}
