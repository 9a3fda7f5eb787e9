import { useSyncExternalStore } from "react";

/** A value that notifies components when it changes. */
export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  const listeners = new Set<() => void>();
  let current = initial;
  return {
    get: () => current,
    set: (value) => {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of [...listeners]) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export function useStore<Value>({ subscribe, get }: Store<Value>): Value {
  return useSyncExternalStore(subscribe, get);
}

/** Resolves with the first value for which the function returns true. Never resolves if the signal fires first. */
export function until<Value>(
  { get, subscribe }: Store<Value>,
  isWanted: (value: Value) => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    // A signal that has already fired does not call listeners, so the subscription would never end.
    if (signal.aborted) return;
    const look = (): void => {
      if (!isWanted(get())) return;
      leave();
      resolve();
    };
    const leave = subscribe(look);
    signal.addEventListener("abort", leave, { once: true });
    look();
  });
}
