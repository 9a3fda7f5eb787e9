import { describe, expect, it } from "vitest";
import { createBurstDetector } from "./bursts.ts";
import { createKeyDecoder, type Key } from "./keys.ts";

/** Returns the keys from several reads, with no time between them. */
function keysOf(...reads: readonly string[]): readonly Key[] {
  const decoder = createKeyDecoder();
  const bursts = createBurstDetector();
  const keys = reads.flatMap((read) => bursts.push(decoder.push(Buffer.from(read))));
  return [...keys, ...bursts.flush()];
}

const text = (typed: string): Key => ({ kind: "text", text: typed });
const key = (name: string): Key => ({ kind: "key", name });

describe("a paste without marks", () => {
  it("is recognized by several lines in one read, and its last line is not sent", () => {
    expect(keysOf("one\rtwo\r")).toEqual([{ kind: "paste", text: "one\ntwo\n" }]);
    expect(keysOf("if x:\n\ty\nz")).toEqual([{ kind: "paste", text: "if x:\n\ty\nz" }]);
    expect(keysOf("one\r\rtwo")).toEqual([{ kind: "paste", text: "one\n\ntwo" }]);
  });

  it("is one piece, wherever reads divide it", () => {
    const long = "long ".repeat(50);
    const whole = `${long}\rsecond line\rthird line\r`;
    for (let at = long.length - 3; at < whole.length; at += 1) {
      const keys = keysOf(whole.slice(0, at), whole.slice(at));
      const typed = keys.map((each) => (each.kind === "key" ? `<${each.name}>` : each.text)).join("");
      expect(typed).toBe(`${long}\nsecond line\nthird line\n`);
    }
  });

  it("is not confused with typed text", () => {
    expect(keysOf("y", "\r", "n", "\r")).toEqual([text("y"), key("enter"), text("n"), key("enter")]);
    expect(keysOf("yes\r")).toEqual([text("yes"), key("enter")]);
    expect(keysOf("Fix it\r", "Then")).toEqual([text("Fix it"), key("enter"), text("Then")]);
    expect(keysOf("\r\r")).toEqual([key("enter"), key("enter")]);
  });

  it("ends before any other key", () => {
    expect(keysOf("one\rtwo", "\u0003")).toEqual([{ kind: "paste", text: "one\ntwo" }, key("ctrl-c")]);
    expect(keysOf("/agents\r", "\u001b[B")).toEqual([text("/agents"), key("enter"), key("down")]);
  });
});
