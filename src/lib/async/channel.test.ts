import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Channel, createChannel } from "./channel.ts";

async function readAll<T>(channel: Channel<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const value of channel) seen.push(value);
  return seen;
}

describe("channel", () => {
  it("delivers values pushed before and while it is read, in order", async () => {
    const channel = createChannel<number>();
    channel.push(1);
    const reading = readAll(channel);
    await Promise.resolve();
    channel.push(2);
    channel.push(3);
    channel.close();
    expect(await reading).toEqual([1, 2, 3]);
  });

  it("accepts nothing after close, and ends for a waiting consumer", async () => {
    const channel = createChannel<number>();
    const reading = readAll(channel);
    channel.close();
    channel.push(1);
    expect(await reading).toEqual([]);
    expect(channel.size).toBe(0);
  });

  it("is closed and emptied when the consumer stops", async () => {
    const channel = createChannel<number>();
    channel.push(1);
    channel.push(2);
    for await (const _ of channel) break;
    channel.push(3);
    expect(channel.size).toBe(0);
  });

  it("rejects a second consumer", () => {
    const channel = createChannel<number>();
    channel[Symbol.asyncIterator]();
    expect(() => channel[Symbol.asyncIterator]()).toThrow("one consumer");
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

  it("takes linear time for a long backlog", async () => {
    const channel = createChannel<number>();
    for (let index = 0; index < 200_000; index++) channel.push(index);
    channel.close();
    const seen = await readAll(channel);
    expect(seen.length).toBe(200_000);
    expect(seen[199_999]).toBe(199_999);
  });
});
