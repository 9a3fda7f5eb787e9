import { describe, expect, it } from "vitest";
import { createPlaces, type Gate, Place } from "./slots.ts";

const free = new AbortController().signal;

function gateOf(capacity: number): Gate {
  return { capacity, taken: 0 };
}

/** Lets everything go on that can. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("places", () => {
  it("are given in the order of coming, past those whose own gate is full", async () => {
    const places = createPlaces();
    const [wide, narrow] = [gateOf(2), gateOf(1)];
    const order: string[] = [];
    const come = async (name: string, gates: readonly Gate[]): Promise<void> => {
      await places.take(gates, { signal: free });
      order.push(name);
    };
    void come("a", [narrow, wide]);
    void come("b", [wide]);
    void come("c", [narrow, wide]);
    void come("d", [wide]);
    void come("e", [wide]);
    await settle();
    expect(order).toEqual(["a", "b"]);
    places.give([wide]);
    await settle();
    expect(order).toEqual(["a", "b", "d"]);
    places.give([narrow, wide]);
    await settle();
    expect(order).toEqual(["a", "b", "d", "c"]);
    expect([wide.taken, narrow.taken]).toEqual([2, 1]);
  });

  it("are not taken by who is aborted, before or while waiting", async () => {
    const places = createPlaces();
    const gate = gateOf(1);
    const controller = new AbortController();
    expect(await places.take([gate], { signal: free })).toBe(true);
    const waiting = places.take([gate], { signal: controller.signal });
    controller.abort();
    expect(await waiting).toBe(false);
    expect(await places.take([gate], { signal: controller.signal })).toBe(false);
    places.give([gate]);
    expect(gate.taken).toBe(0);
  });
});

describe("a place", () => {
  it("is for others while it is lent, and comes back before those who came later", async () => {
    const places = createPlaces();
    const gate = gateOf(1);
    const [parent, child, other] = [0, 1, 2].map(() => new Place(places, [gate])) as [Place, Place, Place];
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
    expect(gate.taken).toBe(1);
  });

  it("lent several times comes back with the last, and once", async () => {
    const gate = gateOf(1);
    const place = new Place(createPlaces(), [gate]);
    const leave = await place.enter(free);
    const [one, two] = [place.lend(), place.lend()];
    await one(free);
    await one(free);
    expect(gate.taken).toBe(0);
    await two(free);
    expect(gate.taken).toBe(1);
    const [three, four] = [place.lend()(free), place.lend()(free)];
    await Promise.all([three, four]);
    expect(gate.taken).toBe(1);
    leave();
    expect(gate.taken).toBe(0);
  });

  it("that a run left is not taken back for it, and serves the next run", async () => {
    const gate = gateOf(1);
    const place = new Place(createPlaces(), [gate]);
    const leave = await place.enter(free);
    const takeBack = place.lend();
    leave();
    const leaveAgain = await place.enter(free);
    await takeBack(free);
    leave();
    expect(gate.taken).toBe(1);
    await expect(place.enter(free)).rejects.toThrow("already");
    leaveAgain();
    expect(gate.taken).toBe(0);
    await place.lend()(free);
    expect(gate.taken).toBe(0);
  });

  it("is not held by who was aborted while waiting for it", async () => {
    const places = createPlaces();
    const gate = gateOf(1);
    const leave = await new Place(places, [gate]).enter(free);
    const controller = new AbortController();
    const waiting = new Place(places, [gate]).enter(controller.signal);
    controller.abort();
    (await waiting)();
    expect(gate.taken).toBe(1);
    leave();
    expect(gate.taken).toBe(0);
  });
});
