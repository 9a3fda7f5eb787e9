import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAddress, outputAddress, parseAddress, resultAddress } from "./address.ts";

const ids = fc.stringMatching(/^[a-zA-Z0-9_-]{1,80}$/);

describe("an address", () => {
  it("has a kind and an id", () => {
    expect(parseAddress("retinue://result/call_1")).toEqual({ kind: "result", id: "call_1" });
    expect(parseAddress("retinue://output/a1b2")).toEqual({ kind: "output", agentId: "a1b2" });
  });

  it("survives being written and parsed again", () => {
    fc.assert(
      fc.property(ids, (id) => {
        expect(parseAddress(resultAddress(id))).toEqual({ kind: "result", id });
        expect(parseAddress(outputAddress(id))).toEqual({ kind: "output", agentId: id });
      }),
    );
  });

  it.each([
    "retinue://",
    "retinue://result",
    "retinue://result/",
    "retinue://result/a/",
    "retinue://result/a/b",
    "retinue://output/../../x",
    "retinue://output/..",
    "retinue://output/%2e%2e%2fx",
    "retinue://output/a%2fb",
    "retinue://output/a\0",
    "retinue://output/a\n",
    "retinue://output/a b",
    "retinue://output/a?x=1",
    "retinue://output/a#x",
    "retinue://output\\a",
    "retinue://transcript/a1",
    "retinue://other-session/output/a1",
    "RETINUE://result/a",
    "retinue://Result/a",
    `retinue://result/${"a".repeat(81)}`,
    "retinue://result/ä",
    "retinue://result/ａ",
  ])("is invalid but not a path: %s", (text) => {
    expect(parseAddress(text)).toBeUndefined();
    expect(isAddress(text)).toBe(true);
  });

  it("is rejected if it is huge", () => {
    expect(parseAddress(`retinue://result/${"a".repeat(10_000_000)}`)).toBeUndefined();
  });

  it.each(["", "a.txt", "./retinue://result/a", "retinue:/result/a", "/retinue://result/a", 3, undefined, null])(
    "is not recognized in %s",
    (value) => {
      expect(isAddress(value)).toBe(false);
    },
  );

  it("never has an id that leads out of a directory", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...".\\/%2eE5cf\0\na") }));
    fc.assert(
      fc.property(fc.constantFrom("retinue://result/", "retinue://output/", "retinue://", ""), text, (start, rest) => {
        const parsed = parseAddress(start + rest);
        if (parsed === undefined) return;
        const id = parsed.kind === "result" ? parsed.id : parsed.agentId;
        expect(id).toMatch(/^[\w-]{1,80}$/);
        expect(start + rest).toBe(parsed.kind === "result" ? resultAddress(id) : outputAddress(id));
      }),
    );
  });
});
