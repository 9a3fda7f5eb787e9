/** A `concurrent` limit and the number of agents that currently occupy its slots. */
export interface SlotLimit {
  readonly capacity: number;
  taken: number;
}

export interface SlotRequest {
  readonly signal: AbortSignal;
  /**
   * If true, the request is served before earlier ones, so that an agent that lent its slot gets the next free slot.
   */
  readonly first?: boolean;
}

export interface SlotPool {
  /**
   * Takes a slot in all of the limits at once, so that no agent holds one slot while it waits for another. Returns
   * false if aborted.
   */
  take(limits: readonly SlotLimit[], request: SlotRequest): Promise<boolean>;
  release(limits: readonly SlotLimit[]): void;
}

interface Waiter {
  readonly limits: readonly SlotLimit[];
  readonly admit: () => void;
}

/**
 * Creates a session's slot pool. Slots are assigned in the order of requests, but a limit never delays a request to
 * which it does not apply.
 */
export function createSlotPool(): SlotPool {
  let waiting: Waiter[] = [];

  function admitWaiting(): void {
    if (waiting.length === 0) return;
    const before = waiting;
    waiting = [];
    for (const waiter of before) {
      if (hasRoom(waiter.limits)) waiter.admit();
      else waiting.push(waiter);
    }
  }

  return {
    async take(limits, { signal, first = false }) {
      if (signal.aborted) return false;
      if (hasRoom(limits)) {
        occupy(limits);
        return true;
      }
      return new Promise((resolve) => {
        const onAbort = (): void => {
          waiting = waiting.filter((other) => other !== waiter);
          resolve(false);
        };
        const waiter: Waiter = {
          limits,
          admit() {
            signal.removeEventListener("abort", onAbort);
            occupy(limits);
            resolve(true);
          },
        };
        signal.addEventListener("abort", onAbort, { once: true });
        if (first) waiting.unshift(waiter);
        else waiting.push(waiter);
      });
    },
    release(limits) {
      for (const limit of limits) limit.taken -= 1;
      admitWaiting();
    },
  };
}

function hasRoom(limits: readonly SlotLimit[]): boolean {
  return limits.every(({ taken, capacity }) => taken < capacity);
}

function occupy(limits: readonly SlotLimit[]): void {
  for (const limit of limits) limit.taken += 1;
}

/** A run's slot. */
interface Occupancy {
  held: boolean;
  lent: number;
  returning: Promise<void> | undefined;
}

/**
 * An agent's slot, which the agent takes when a run begins and lends to others while the run waits for the agent's own
 * subagents.
 */
export class Slot {
  private readonly pool: SlotPool;
  private readonly limits: readonly SlotLimit[];
  /** Slot of the current run. A slot that an earlier run lent and never took back is discarded with that run. */
  private current: Occupancy | undefined;

  constructor(pool: SlotPool, limits: readonly SlotLimit[]) {
    this.pool = pool;
    this.limits = limits;
  }

  async enter(signal: AbortSignal): Promise<() => void> {
    if (this.current) throw new Error("the agent already has a slot");
    const own: Occupancy = { held: false, lent: 0, returning: undefined };
    this.current = own;
    own.held = await this.pool.take(this.limits, { signal });
    return () => {
      if (this.current !== own) return;
      this.current = undefined;
      this.release(own);
    };
  }

  lend(): (signal: AbortSignal) => Promise<void> {
    const own = this.current;
    if (!own) return async () => undefined;
    own.lent += 1;
    this.release(own);
    let isBack = false;
    return async (signal) => {
      if (isBack) return;
      isBack = true;
      own.lent -= 1;
      if (this.current !== own || own.lent > 0) return;
      // Concurrent callers share one slot.
      own.returning ??= this.takeBack(own, signal);
      await own.returning;
    };
  }

  private async takeBack(own: Occupancy, signal: AbortSignal): Promise<void> {
    const isTaken = await this.pool.take(this.limits, { signal, first: true });
    own.returning = undefined;
    own.held = isTaken;
    if (this.current !== own || own.lent > 0) this.release(own);
  }

  private release(own: Occupancy): void {
    if (!own.held) return;
    own.held = false;
    this.pool.release(this.limits);
  }
}
