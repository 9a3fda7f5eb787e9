import fc from "fast-check";
import { expect, it } from "vitest";
import { wireCallId } from "./wire-call-id.ts";

it.each([
  ["main_1_0", "m1_0"],
  ["a53n9av9sdrb4_12_3", "a12_3"],
  ["main_1_0_acceptance", "main_1_0_acceptance"],
  ["search_0", "search_0"],
  ["c1", "c1"],
])("%s goes out as %s", (callId, sent) => {
  expect(wireCallId(callId)).toBe(sent);
});

it("keeps calls of different requests apart, whoever made them", () => {
  const agent = fc.constantFrom("main", "a53n9av9sdrb4", "aqgct08w7gxt3");
  const call = fc.record({ agent, request: fc.nat(), index: fc.nat(99) });
  fc.assert(
    fc.property(call, call, (one, other) => {
      fc.pre(one.request !== other.request || one.index !== other.index);
      const sent = ({ agent: who, request, index }: typeof one) => wireCallId(`${who}_${request}_${index}`);
      expect(sent(one)).not.toBe(sent(other));
    }),
  );
});
