import { useRef, useState } from "react";

/** Sets a text, or computes it from the newest one. */
type SetDraft = (change: string | ((before: string) => string)) => void;

/** Unsent text, kept as long as the tab is open. It is stored at once, so that leaving the page does not lose it. */
export function useDraft(key: string): readonly [string, SetDraft] {
  const name = nameOf(key);
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? "");
  const newest = useRef(text);
  const change: SetDraft = (given) => {
    newest.current = typeof given === "string" ? given : given(newest.current);
    if (newest.current === "") sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, newest.current);
    setText(newest.current);
  };
  return [text, change];
}

export function hasDraft(key: string): boolean {
  return sessionStorage.getItem(nameOf(key)) !== null;
}

function nameOf(key: string): string {
  return `retinue-draft ${key}`;
}
