import { describe, expect, it } from "vitest";
import { createSlotPool, Slot, type SlotLimit } from "./slots.ts";

const free = new AbortController().signal;

function limitOf(capacity: number): SlotLimit {
  return { capacity, taken: 0 };
}

/** Lets all pending promises settle. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("slots", () => {
  it("are granted in order, skipping requests whose own limit is reached", async () => {
    const pool = createSlotPool();
    const [wide, narrow] = [limitOf(2), limitOf(1)];
    const order: string[] = [];
    const request = async (name: string, limits: readonly SlotLimit[]): Promise<void> => {
      await pool.take(limits, { signal: free });
      order.push(name);
    };
    void request("a", [narrow, wide]);
    void request("b", [wide]);
    void request("c", [narrow, wide]);
    void request("d", [wide]);
    void request("e", [wide]);
    await settle();
    expect(order).toEqual(["a", "b"]);
    pool.release([wide]);
    await settle();
    expect(order).toEqual(["a", "b", "d"]);
    pool.release([narrow, wide]);
    await settle();
    expect(order).toEqual(["a", "b", "d", "c"]);
    expect([wide.taken, narrow.taken]).toEqual([2, 1]);
  });

  it("are not used by a request that is aborted, before or while waiting", async () => {
    const pool = createSlotPool();
    const limit = limitOf(1);
    const controller = new AbortController();
    expect(await pool.take([limit], { signal: free })).toBe(true);
    const waiting = pool.take([limit], { signal: controller.signal });
    controller.abort();
    expect(await waiting).toBe(false);
    expect(await pool.take([limit], { signal: controller.signal })).toBe(false);
    pool.release([limit]);
    expect(limit.taken).toBe(0);
  });
});

describe("a slot", () => {
  it("is available to others while it is lent, and returns before later requests", async () => {
    const pool = createSlotPool();
    const limit = limitOf(1);
    const [parent, child, other] = [0, 1, 2].map(() => new Slot(pool, [limit])) as [Slot, Slot, Slot];
    const order: string[] = [];
    const leaveParent = await parent.enter(free);
    const takeBack = parent.lend();
    const leaveChild = await child.enter(free);
    void other.enter(free).then(() => order.push("other"));
    const back = takeBack(free).then(() => order.push("parent"));
    await settle();
    expect(order).toEqual([]);
    leaveChild();
    await back;
    expect(order).toEqual(["parent"]);
    leaveParent();
    leaveParent();
    await settle();
    expect(order).toEqual(["parent", "other"]);
    expect(limit.taken).toBe(1);
  });

  it("is taken back only once if it is lent several times, when the last loan ends", async () => {
    const limit = limitOf(1);
    const slot = new Slot(createSlotPool(), [limit]);
    const leave = await slot.enter(free);
    const [one, two] = [slot.lend(), slot.lend()];
    await one(free);
    await one(free);
    expect(limit.taken).toBe(0);
    await two(free);
    expect(limit.taken).toBe(1);
    const [three, four] = [slot.lend()(free), slot.lend()(free)];
    await Promise.all([three, four]);
    expect(limit.taken).toBe(1);
    leave();
    expect(limit.taken).toBe(0);
  });

  it("does not return to a run that ended while it was lent, and can be used by the next run", async () => {
    const limit = limitOf(1);
    const slot = new Slot(createSlotPool(), [limit]);
    const leave = await slot.enter(free);
    const takeBack = slot.lend();
    leave();
    const leaveAgain = await slot.enter(free);
    await takeBack(free);
    leave();
    expect(limit.taken).toBe(1);
    await expect(slot.enter(free)).rejects.toThrow("already");
    leaveAgain();
    expect(limit.taken).toBe(0);
    await slot.lend()(free);
    expect(limit.taken).toBe(0);
  });

  it("is not held by an agent that was aborted while waiting for it", async () => {
    const pool = createSlotPool();
    const limit = limitOf(1);
    const leave = await new Slot(pool, [limit]).enter(free);
    const controller = new AbortController();
    const waiting = new Slot(pool, [limit]).enter(controller.signal);
    controller.abort();
    (await waiting)();
    expect(limit.taken).toBe(1);
    leave();
    expect(limit.taken).toBe(0);
  });
});
