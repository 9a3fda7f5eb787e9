import type { Journal } from "../../ports/index.ts";
import type { DurableEvent, Line } from "../../protocol/index.ts";

interface Entry<State> {
  /** Condition for recording the events. If absent, they are always recorded. */
  readonly allows: ((state: State) => boolean) | undefined;
  readonly events: readonly DurableEvent[];
  readonly resolve: (lines: readonly Line[] | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export interface RecordTarget<State> {
  state(): State;
  append(events: readonly DurableEvent[]): ReturnType<Journal["append"]>;
  /** Called for each event in order, after the event was written. */
  apply(event: DurableEvent, line: Line | undefined): void;
}

/** Writes events to the journal, then applies them. Events from different calls are never interleaved. */
export class RecordQueue<State> {
  private readonly target: RecordTarget<State>;
  private readonly waiting: Entry<State>[] = [];
  private isWriting = false;

  constructor(target: RecordTarget<State>) {
    this.target = target;
  }

  /** Records events if the condition holds when it is their turn. Otherwise records nothing and returns undefined. */
  record(allows: Entry<State>["allows"], events: readonly DurableEvent[]): Promise<readonly Line[] | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ allows, events, resolve, reject });
      if (this.isWriting) return;
      this.isWriting = true;
      // Hundreds of calls from one response may record events at the same time. Waiting a moment combines them into one
      // write.
      void now.then(() => this.write());
    });
  }

  private write(): void {
    for (let first = this.waiting.shift(); first !== undefined; first = this.waiting.shift()) {
      if (first.allows?.(this.target.state()) === false) {
        first.resolve(undefined);
        continue;
      }
      const entries = [first, ...takeWhile(this.waiting, ({ allows }) => allows === undefined)];
      const lines = this.target.append(entries.length === 1 ? first.events : entries.flatMap(({ events }) => events));
      if (!(lines instanceof Promise)) this.settle(entries, lines);
      else
        return void lines
          .then(
            (written) => this.settle(entries, written),
            (error: unknown) => fail(entries, error),
          )
          .then(() => this.write());
    }
    this.isWriting = false;
  }

  private settle(entries: readonly Entry<State>[], lines: readonly Line[]): void {
    try {
      let from = 0;
      for (const { events, resolve } of entries) {
        const own = entries.length === 1 ? lines : lines.slice(from, from + events.length);
        events.forEach((event, index) => {
          this.target.apply(event, own[index]);
        });
        resolve(own);
        from += events.length;
      }
    } catch (error) {
      fail(entries, error);
    }
  }
}

const now = Promise.resolve();

/** Rejects entries. Has no effect on entries that are already resolved. */
function fail(entries: readonly Entry<never>[], error: unknown): void {
  for (const { reject } of entries) reject(error);
}

/** Removes and returns the elements at the beginning of the list, up to the first one that is not wanted. */
function takeWhile<T>(list: T[], isWanted: (element: T) => boolean): T[] {
  const end = list.findIndex((element) => !isWanted(element));
  return list.splice(0, end === -1 ? list.length : end);
}
