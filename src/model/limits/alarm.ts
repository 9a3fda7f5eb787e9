import type { Clock } from "../../ports/index.ts";
import type { Delay } from "./delay.ts";

/**
 * Calls `ring` at a set time, which can be changed. While no time is set, the alarm has no timer, so it does not keep
 * the process alive.
 */
export interface Alarm {
  now(): number;
  /** Replaces the time that was set before; undefined removes it. */
  set(at: number | undefined): void;
}

export interface AlarmOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly delay: Delay;
  /**
   * Called at the set time or earlier, because timers can fire early in a busy process. If called early, set the alarm
   * again.
   */
  readonly ring: () => void;
}

export function createAlarm({ clock, delay, ring }: AlarmOptions): Alarm {
  let setTo: { readonly at: number; readonly stop: AbortController } | undefined;
  /**
   * Total length of the waits during which the clock did not advance, in milliseconds. `now` adds it to the clock's
   * time, because a wait for a time that the clock never reaches would not end.
   */
  let stoodStillMs = 0;
  const now = () => clock.monotonic() + stoodStillMs;

  return {
    now,
    set(at) {
      if (at === setTo?.at) return;
      setTo?.stop.abort();
      setTo = undefined;
      if (at === undefined) return;
      const mine = { at, stop: new AbortController() };
      setTo = mine;
      const begin = now();
      void delay(at - begin, mine.stop.signal).then(() => {
        if (setTo !== mine) return;
        setTo = undefined;
        if (now() === begin) stoodStillMs += at - begin;
        ring();
      });
    },
  };
}
