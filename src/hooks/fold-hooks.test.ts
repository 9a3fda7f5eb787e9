import fc from "fast-check";
import { expect, it } from "vitest";
import type { Effect } from "../protocol/index.ts";
import { foldHooks, type SaidByHook } from "./fold-hooks.ts";

const said = fc.record({
  source: fc.constantFrom("user", "project", "plugin"),
  answer: fc.record(
    {
      decision: fc.constantFrom("allow", "ask", "deny"),
      reason: fc.string(),
      context: fc.string(),
      notice: fc.string(),
    },
    { requiredKeys: [] },
  ),
}) as fc.Arbitrary<SaidByHook>;

const strictness = (decision: Effect | undefined): number => ["allow", "ask", "deny"].indexOf(decision ?? "");

it("the strictest decision wins, in whatever order hooks are configured", () => {
  fc.assert(
    fc.property(fc.array(said), fc.array(said), (left, right) => {
      const both = foldHooks([...left, ...right]).decision;
      expect(foldHooks([...right, ...left]).decision).toBe(both);
      expect(strictness(both)).toBe(Math.max(...[left, right].map((each) => strictness(foldHooks(each).decision))));
    }),
  );
});

it("yes is the user's word only if one of the user's hooks said it", () => {
  fc.assert(
    fc.property(fc.array(said), (all) => {
      const { decision, allowedBy } = foldHooks(all);
      const byUser = all.some(({ source, answer }) => source === "user" && answer.decision === "allow");
      expect(allowedBy === "user").toBe(decision === "allow" && byUser);
      if (decision !== "allow") expect(allowedBy).toBeUndefined();
    }),
  );
});

it("gives the reasons of those who decided, the last changed input and everybody's words", () => {
  const outcome = foldHooks([
    { source: "user", answer: { decision: "deny", reason: "first", context: "one", input: { a: 1 } } },
    { source: "user", answer: { decision: "allow", reason: "not this", notice: "look" } },
    { source: "user", answer: { decision: "deny", reason: "second", context: "two", input: { a: 2 } } },
    { source: "user", answer: {} },
  ]);
  expect(outcome).toEqual({
    ran: 4,
    decision: "deny",
    reason: "first\nsecond",
    input: { a: 2 },
    context: "one\ntwo",
    notices: ["look"],
  });
});
