import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKeyDecoder, type Key } from "./keys.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const names = (keys: readonly Key[]): readonly string[] =>
  keys.map((key) => (key.kind === "key" ? key.name : `${key.kind}:${key.text}`));

describe("keys", () => {
  it.each([
    ["a\r", ["text:a", "enter"]],
    ["\u001b[A\u001bOB\u001b[1;5C", ["up", "down", "ctrl-right"]],
    ["\u0003\u007f\u001b\u007f", ["ctrl-c", "backspace", "alt-backspace"]],
    ["\u001b\r\u001b[13;2u\u001b[27;5;13~", ["alt-enter", "shift-enter", "ctrl-enter"]],
    ["\u001b[Z\u001b[3~\u001b[5~", ["shift-tab", "delete", "pageup"]],
    ["\u001b[200~a\r\nb\u001b[201~c", ["paste:a\r\nb", "text:c"]],
    ["漢字👍", ["text:漢字👍"]],
    ["\u001b[?1;2c\u001b[<0;1;1Mx", ["text:x"]],
  ])("%j are decoded", (typed, expected) => {
    expect(names(createKeyDecoder().push(bytes(typed)))).toEqual(expected);
  });

  it("are not confused with a position that the terminal reports", () => {
    const positions: unknown[] = [];
    const decoder = createKeyDecoder((position) => positions.push(position));
    expect(names(decoder.push(bytes("a\u001b[24;80Rb")))).toEqual(["text:a", "text:b"]);
    expect(positions).toEqual([{ row: 23, column: 79 }]);
  });

  it("wait for the rest of a sequence, and treat Esc alone as a key", () => {
    const decoder = createKeyDecoder();
    expect(decoder.push(bytes("\u001b"))).toEqual([]);
    expect(decoder.isPending).toBe(true);
    expect(names(decoder.flush())).toEqual(["esc"]);
    decoder.push(bytes("\u001b"));
    expect(names(decoder.push(bytes("/x")))).toEqual(["esc", "text:/x"]);
    expect(decoder.push(bytes("\u001b["))).toEqual([]);
    expect(names(decoder.push(bytes("B")))).toEqual(["down"]);
  });

  it("are the same no matter how the bytes are split", () => {
    const typed = "aé漢\u001b[A\u001b[200~pasted\u001b[Atext\u001b[201~\u001b[1;5D\u0003z";
    const whole = names(createKeyDecoder().push(bytes(typed)));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (sizes) => {
        const decoder = createKeyDecoder();
        const keys: Key[] = [];
        const all = bytes(typed);
        for (let at = 0, step = 0; at < all.length; step++) {
          const size = sizes[step % sizes.length] ?? 1;
          keys.push(...decoder.push(all.slice(at, at + size)));
          at += size;
        }
        const joined = names(keys).reduce<string[]>((merged, name) => {
          const last = merged.at(-1);
          if (name.startsWith("text:") && last?.startsWith("text:"))
            merged[merged.length - 1] = `${last}${name.slice(5)}`;
          else merged.push(name);
          return merged;
        }, []);
        expect(joined).toEqual(whole);
      }),
    );
  });
});
