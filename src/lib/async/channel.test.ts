import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Channel, createChannel } from "./channel.ts";

async function readAll<T>(channel: Channel<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const value of channel) seen.push(value);
  return seen;
}

describe("channel", () => {
  it("delivers what was pushed before and while it was read, in order", async () => {
    const channel = createChannel<number>();
    channel.push(1);
    const reading = readAll(channel);
    await Promise.resolve();
    channel.push(2);
    channel.push(3);
    channel.close();
    expect(await reading).toEqual([1, 2, 3]);
  });

  it("refuses when full and takes again after a read", async () => {
    const channel = createChannel<number>({ capacity: 2 });
    expect([channel.push(1), channel.push(2), channel.push(3)]).toEqual([true, true, false]);
    const iterator = channel[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    expect(channel.push(4)).toBe(true);
    channel.close();
    expect(await iterator.next()).toEqual({ done: false, value: 2 });
    expect(await iterator.next()).toEqual({ done: false, value: 4 });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("delivers the rest, then throws the failure once", async () => {
    const channel = createChannel<number>();
    channel.push(1);
    channel.fail(new Error("producer died"));
    const iterator = channel[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    await expect(iterator.next()).rejects.toThrow("producer died");
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("throws the failure to a consumer that is already waiting", async () => {
    const channel = createChannel<number>();
    const waiting = channel[Symbol.asyncIterator]().next();
    channel.fail(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });

  it("takes nothing after close, and the first ending counts", async () => {
    const channel = createChannel<number>();
    channel.close();
    channel.fail(new Error("later"));
    expect(channel.push(1)).toBe(false);
    expect(channel.closed).toBe(true);
    expect(await readAll(channel)).toEqual([]);
  });

  it("is closed and emptied when the consumer leaves", async () => {
    const channel = createChannel<number>();
    channel.push(1);
    channel.push(2);
    for await (const _ of channel) break;
    expect([channel.push(3), channel.size, channel.closed]).toEqual([false, 0, true]);
  });

  it("refuses a second consumer and a useless capacity", () => {
    const channel = createChannel<number>();
    channel[Symbol.asyncIterator]();
    expect(() => channel[Symbol.asyncIterator]()).toThrow("one consumer");
    expect(() => createChannel({ capacity: 0 })).toThrow("at least 1");
  });

  it("keeps order and loses nothing for any mix of pushes and reads", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 4000 }), async (steps) => {
        const channel = createChannel<number>();
        const iterator = channel[Symbol.asyncIterator]();
        const reads: Promise<IteratorResult<number>>[] = [];
        let pushed = 0;
        for (const push of steps) {
          if (push) channel.push(pushed++);
          else reads.push(iterator.next());
        }
        channel.close();
        const seen: number[] = [];
        for (const result of await Promise.all(reads)) if (!result.done) seen.push(result.value);
        for (let rest = await iterator.next(); !rest.done; rest = await iterator.next()) seen.push(rest.value);
        expect(seen).toEqual(Array.from({ length: pushed }, (_, index) => index));
      }),
      { numRuns: 40 },
    );
  });

  it("stays linear over a long backlog", async () => {
    const channel = createChannel<number>();
    for (let index = 0; index < 200_000; index++) channel.push(index);
    channel.close();
    const seen = await readAll(channel);
    expect(seen.length).toBe(200_000);
    expect(seen[199_999]).toBe(199_999);
  });
});
