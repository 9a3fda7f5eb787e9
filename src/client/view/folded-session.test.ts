import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FoldedSession, foldAll, newFoldedSession, PartReader, partsOf, type ViewPart } from "./folded-session.ts";
import { randomSession } from "./random-session.test-support.ts";

/** Sends a folded session as a server does, and reassembles it as a client does. */
function sent(folded: FoldedSession): FoldedSession {
  const texts = [...partsOf(folded)].map((part) => JSON.stringify(part));
  const reader = new PartReader();
  const results = texts.map((text) => reader.add(JSON.parse(text) as ViewPart));
  expect(results.slice(0, -1).every((result) => result === undefined)).toBe(true);
  const { view, ...rest } = results.at(-1)!;
  return { ...rest, view: { ...view, keep: 0 } };
}

describe("a folded session in parts", () => {
  it("is the same for a client that joins at any time, both at that time and after all later updates", () => {
    fc.assert(
      fc.property(randomSession, fc.nat(), (updates, cut) => {
        const before = updates.slice(0, cut % (updates.length + 1));
        const after = updates.slice(before.length);
        const joined = sent(before.reduce(foldAll, newFoldedSession({ keep: 0 })));
        expect(joined).toEqual(plain(before.reduce(foldAll, newFoldedSession({ keep: 0 }))));
        const whole = updates.reduce(foldAll, newFoldedSession({ keep: 0 }));
        expect(plain(after.reduce(foldAll, joined))).toEqual(plain(whole));
      }),
    );
  });

  it("treats items that are not sent as dropped", () => {
    fc.assert(
      fc.property(randomSession, (updates) => {
        const [all, none] = [undefined, 0].map((keep) => updates.reduce(foldAll, newFoldedSession({ keep })));
        expect(sent(all!).view.agents).toEqual(plain(none!).view.agents);
      }),
    );
  });
});

/** Ignores `spans.version` in comparisons, because each client counts changes itself. */
function plain(folded: FoldedSession): FoldedSession {
  return { ...folded, spans: { ...folded.spans, version: expect.any(Number) as never } };
}
