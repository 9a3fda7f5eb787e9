import type { Clock } from "../../ports/index.ts";
import type { Delay } from "./delay.ts";

/** Calls its owner at one time, which can be moved. While none is set, it keeps no timer and so no process alive. */
export interface Alarm {
  now(): number;
  /** Replaces the time that was set before; undefined sets none. */
  set(at: number | undefined): void;
}

export interface AlarmOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly delay: Delay;
  /** May be called before the time, because timers of a busy process fire early. Set the alarm again then. */
  readonly ring: () => void;
}

export function createAlarm({ clock, delay, ring }: AlarmOptions): Alarm {
  let setTo: { readonly at: number; readonly stop: AbortController } | undefined;
  /** Time that was waited for while the clock stood still: with such a clock, no wait would ever end. */
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
