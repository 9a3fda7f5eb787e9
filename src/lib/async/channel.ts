import { createDeferred, type Deferred } from "./deferred.ts";

export interface Channel<T> extends AsyncIterable<T> {
  /** Adds a value. Has no effect after `close`, or if the consumer has stopped reading. */
  push(value: T): void;
  /** Ends the channel after all values pushed so far have been delivered. */
  close(): void;
  /** Number of values waiting for the consumer. */
  readonly size: number;
}

/** Creates an unbounded queue from one or more producers to a single consumer. */
export function createChannel<T>(): Channel<T> {
  const queue = createQueue<T>();
  const waiting: Deferred<IteratorResult<T>>[] = [];
  let isClosed = false;
  let isConsumed = false;

  function close(): void {
    isClosed = true;
    for (const reader of waiting.splice(0)) reader.resolve({ done: true, value: undefined });
  }

  const iterator: AsyncIterator<T> = {
    next() {
      if (queue.size > 0) return Promise.resolve({ done: false, value: queue.take() });
      if (isClosed) return Promise.resolve({ done: true, value: undefined });
      const reader = createDeferred<IteratorResult<T>>();
      waiting.push(reader);
      return reader.promise;
    },
    return() {
      queue.clear();
      close();
      return Promise.resolve({ done: true, value: undefined });
    },
  };

  return {
    push(value) {
      if (isClosed) return;
      const reader = waiting.shift();
      if (reader) reader.resolve({ done: false, value });
      else queue.put(value);
    },
    close,
    get size() {
      return queue.size;
    },
    [Symbol.asyncIterator]() {
      if (isConsumed) throw new Error("A channel can have only one consumer, and this channel already has one.");
      isConsumed = true;
      return iterator;
    },
  };
}

/**
 * Creates a queue that avoids `Array.shift`, which moves every element. This queue moves its elements only when half of
 * the array is empty.
 */
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
