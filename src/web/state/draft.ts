import { useReducer } from "react";

/** Sets the text, or computes it from the current text. */
type SetDraft = (change: string | ((before: string) => string)) => void;

/**
 * Unsent text, kept as long as the tab is open. It is stored at once, so that leaving the page does not lose it, and is
 * always read for the current key: a message to one agent must never be shown as the message to another.
 */
export function useDraft(key: string): readonly [string, SetDraft] {
  const name = nameOf(key);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const read = (): string => sessionStorage.getItem(name) ?? "";
  const change: SetDraft = (given) => {
    const text = typeof given === "string" ? given : given(read());
    if (text === "") sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
    redraw();
  };
  return [read(), change];
}

export function hasDraft(key: string): boolean {
  return sessionStorage.getItem(nameOf(key)) !== null;
}

function nameOf(key: string): string {
  return `retinue-draft ${key}`;
}
