import { createDeferred, type Deferred } from "./deferred.ts";

export interface Channel<T> extends AsyncIterable<T> {
  /** Returns false if the value was rejected: the channel is full, closed, or its consumer has left. */
  push(value: T): boolean;
  /** Ends the channel after the values pushed so far are delivered. */
  close(): void;
  /** Makes the consumer's loop throw the error after the values pushed so far are delivered. */
  fail(error: unknown): void;
  /** Number of values waiting for the consumer. */
  readonly size: number;
  readonly closed: boolean;
}

/** Creates a queue from one or more producers to a single consumer; unbounded without a capacity. */
export function createChannel<T>({ capacity = Number.POSITIVE_INFINITY }: { capacity?: number } = {}): Channel<T> {
  if (!(capacity >= 1)) throw new RangeError(`A channel needs a capacity of at least 1, not ${capacity}.`);
  const queue = createQueue<T>();
  const waiting: Deferred<IteratorResult<T>>[] = [];
  let ended: { error?: unknown } | undefined;
  let consumed = false;

  function end(how: { error?: unknown }): void {
    if (ended) return;
    ended = how;
    for (const reader of waiting.splice(0)) settleEnd(reader);
  }

  // The error is thrown once; after that the iterator reports the end, like a generator.
  function settleEnd(reader: Deferred<IteratorResult<T>>): void {
    const how = ended ?? {};
    ended = {};
    if ("error" in how) reader.reject(how.error);
    else reader.resolve({ done: true, value: undefined });
  }

  const iterator: AsyncIterator<T> = {
    next() {
      if (queue.size > 0) return Promise.resolve({ done: false, value: queue.take() });
      const reader = createDeferred<IteratorResult<T>>();
      if (ended) settleEnd(reader);
      else waiting.push(reader);
      return reader.promise;
    },
    return() {
      ended = {};
      queue.clear();
      for (const reader of waiting.splice(0)) settleEnd(reader);
      return Promise.resolve({ done: true, value: undefined });
    },
  };

  return {
    push(value) {
      if (ended) return false;
      const reader = waiting.shift();
      if (reader) {
        reader.resolve({ done: false, value });
        return true;
      }
      if (queue.size >= capacity) return false;
      queue.put(value);
      return true;
    },
    close: () => end({}),
    fail: (error) => end({ error }),
    get size() {
      return queue.size;
    },
    get closed() {
      return ended !== undefined;
    },
    [Symbol.asyncIterator]() {
      if (consumed) throw new Error("A channel has one consumer; this one is already being read.");
      consumed = true;
      return iterator;
    },
  };
}

/** Avoids `Array.shift`, which moves every element: elements are moved only when half of the array is empty. */
function createQueue<T>() {
  let items: (T | undefined)[] = [];
  let first = 0;
  return {
    get size() {
      return items.length - first;
    },
    put(value: T): void {
      items.push(value);
    },
    take(): T {
      const value = items[first] as T;
      items[first] = undefined;
      first += 1;
      if (first > 1024 && first * 2 > items.length) {
        items = items.slice(first);
        first = 0;
      }
      return value;
    },
    clear(): void {
      items = [];
      first = 0;
    },
  };
}
