import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  at,
  elements,
  emptyList,
  emptyMap,
  get,
  type List,
  listOf,
  type PersistentMap,
  push,
  replace,
  set,
} from "./persistent.ts";

describe("a list", () => {
  it("has the added and replaced elements, and no change affects an earlier list", () => {
    const change = fc.oneof(
      fc.record({ kind: fc.constant("push" as const), count: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant("replace" as const), where: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        let list: List<number> = emptyList;
        let model: readonly number[] = [];
        let next = 0;
        for (const each of changes) {
          const before = list;
          const held = model;
          if (each.kind === "push")
            for (let count = 0; count < each.count; count++) {
              list = push(list, next);
              model = [...model, next++];
            }
          else if (model.length > 0) {
            const index = each.where % model.length;
            list = replace(list, index, -next);
            model = model.with(index, -next++);
          }
          expect([...elements(before)]).toEqual(held);
        }
        expect([...elements(list)]).toEqual(model);
        expect(at(list, model.length)).toBeUndefined();
        expect(at(list, -1)).toBeUndefined();
      }),
    );
  });

  it("grows beyond every node size", () => {
    const values = Array.from({ length: 33_000 }, (_, index) => index);
    const list = listOf(values);
    for (const index of [0, 31, 32, 1_023, 1_024, 32_767, 32_768, 32_999]) expect(at(list, index)).toBe(index);
    expect([...elements(list, 32_766, 32_770)]).toEqual([32_766, 32_767, 32_768, 32_769]);
  });
});

describe("a map", () => {
  it("finds every key, even those with the same hash, and no change affects an earlier map", () => {
    let map: PersistentMap<number> = emptyMap;
    for (let index = 0; index < 50_000; index++) map = set(map, `a${index}`, index);
    const before = map;
    map = set(map, "a7", -7);
    expect([get(before, "a7"), get(map, "a7"), get(map, "a8")]).toEqual([7, -7, 8]);
    for (let index = 8; index < 50_000; index++) if (get(map, `a${index}`) !== index) expect.fail(`a${index}`);
    expect(get(map, "b")).toBeUndefined();
  });
});
