/** One line of a turnstile: how many may be in at once, and how many are. */
export interface Gate {
  readonly capacity: number;
  taken: number;
}

export interface PlaceRequest {
  readonly signal: AbortSignal;
  /** Before all who came earlier: whoever only lent a place gets the next free one. */
  readonly first?: boolean;
}

export interface Places {
  /** A place in all of these gates, or in none: nobody holds one while waiting for another. False: aborted, nothing taken. */
  take(gates: readonly Gate[], request: PlaceRequest): Promise<boolean>;
  give(gates: readonly Gate[]): void;
}

interface Waiter {
  readonly gates: readonly Gate[];
  readonly admit: () => void;
}

/** Places of one tree of gates. Who comes first goes first, unless a gate only the earlier one needs is full. */
export function createPlaces(): Places {
  let waiting: Waiter[] = [];

  function admitAll(): void {
    if (waiting.length === 0) return;
    const before = waiting;
    waiting = [];
    for (const waiter of before) {
      if (isFree(waiter.gates)) waiter.admit();
      else waiting.push(waiter);
    }
  }

  return {
    async take(gates, { signal, first = false }) {
      if (signal.aborted) return false;
      if (isFree(gates)) {
        enter(gates);
        return true;
      }
      return new Promise((resolve) => {
        const onAbort = (): void => {
          waiting = waiting.filter((other) => other !== waiter);
          resolve(false);
        };
        const waiter: Waiter = {
          gates,
          admit() {
            signal.removeEventListener("abort", onAbort);
            enter(gates);
            resolve(true);
          },
        };
        signal.addEventListener("abort", onAbort, { once: true });
        if (first) waiting.unshift(waiter);
        else waiting.push(waiter);
      });
    },
    give(gates) {
      for (const gate of gates) gate.taken -= 1;
      admitAll();
    },
  };
}

function isFree(gates: readonly Gate[]): boolean {
  return gates.every(({ taken, capacity }) => taken < capacity);
}

function enter(gates: readonly Gate[]): void {
  for (const gate of gates) gate.taken += 1;
}

interface Stay {
  held: boolean;
  lent: number;
  returning: Promise<void> | undefined;
}

/** One agent's place: taken when it enters, given away while it waits for agents of its own. */
export class Place {
  private readonly places: Places;
  private readonly gates: readonly Gate[];
  /** Of the run under way; what an earlier one lent and never took back is forgotten with it. */
  private stay: Stay | undefined;

  constructor(places: Places, gates: readonly Gate[]) {
    this.places = places;
    this.gates = gates;
  }

  async enter(signal: AbortSignal): Promise<() => void> {
    if (this.stay) throw new Error("this agent has entered already");
    const stay: Stay = { held: false, lent: 0, returning: undefined };
    this.stay = stay;
    stay.held = await this.places.take(this.gates, { signal });
    return () => {
      if (this.stay !== stay) return;
      this.stay = undefined;
      this.giveBack(stay);
    };
  }

  lend(): (signal: AbortSignal) => Promise<void> {
    const { stay } = this;
    if (!stay) return async () => undefined;
    stay.lent += 1;
    this.giveBack(stay);
    let isBack = false;
    return async (signal) => {
      if (isBack) return;
      isBack = true;
      stay.lent -= 1;
      if (this.stay !== stay || stay.lent > 0) return;
      // Two who take it back at once want one place.
      stay.returning ??= this.takeBack(stay, signal);
      await stay.returning;
    };
  }

  private async takeBack(stay: Stay, signal: AbortSignal): Promise<void> {
    const isTaken = await this.places.take(this.gates, { signal, first: true });
    stay.returning = undefined;
    stay.held = isTaken;
    if (this.stay !== stay || stay.lent > 0) this.giveBack(stay);
  }

  private giveBack(stay: Stay): void {
    if (!stay.held) return;
    stay.held = false;
    this.places.give(this.gates);
  }
}
