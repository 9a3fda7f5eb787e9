import { useSyncExternalStore } from "react";

const EVERY_MS = 1_000;

/** Returns the current time, which is updated once a second for all components at once. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, EVERY_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
