import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBlock } from "./block.ts";
import { createTerminal } from "./terminal.test-support.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b", "é"), minLength: 1, maxLength: 20 });
const lines = fc.array(word, { maxLength: 6 });

describe("a block of live lines", () => {
  it("shows the printed text, with the last drawn lines below it", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("draw" as const), lines }),
      fc.record({ kind: fc.constant("print" as const), lines, text: word }),
      fc.record({ kind: fc.constant("clear" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const terminal = createTerminal(30);
        const block = createBlock({ write: terminal.write, rows: () => 24 });
        const printed: string[] = [];
        let drawn: readonly string[] = [];
        for (const each of steps) {
          if (each.kind === "draw") block.draw(each.lines);
          else if (each.kind === "print") block.print(`${each.text}\n`, each.lines);
          else block.clear();
          if (each.kind === "print") printed.push(each.text);
          drawn = each.kind === "clear" ? [] : each.lines;
        }
        const expected = [...printed, ...drawn];
        expect(terminal.screen().filter((line) => line !== "")).toEqual(expected);
      }),
    );
  });

  it("cuts lines that would wrap in a terminal that was just made narrower", () => {
    const terminal = createTerminal(10);
    const block = createBlock({ write: terminal.write, rows: () => 24 });
    block.draw(["x".repeat(30), "y"]);
    expect(terminal.screen()).toEqual(["x".repeat(10), "y"]);
    block.print("text\n", ["z".repeat(30)]);
    expect(terminal.screen()).toEqual(["text", "z".repeat(10)]);
    block.clear();
    expect(terminal.screen()).toEqual(["text"]);
  });

  it("leaves nothing behind when the terminal becomes shorter and then taller again", () => {
    const sizes = fc.array(fc.integer({ min: 2, max: 14 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 12 }), (heights, count) => {
        const terminal = createTerminal(30);
        let height = 20;
        const block = createBlock({ write: terminal.write, rows: () => height });
        const draw = (): void =>
          block.draw(Array.from({ length: Math.max(1, Math.min(count, height - 1)) }, (_, at) => `line ${at}`));
        terminal.write("$ retinue\n");
        for (height of [20, ...heights, 20]) {
          terminal.resize(height);
          draw();
        }
        const all = Array.from({ length: count }, (_, at) => `line ${at}`);
        expect(terminal.screen()).toEqual(["$ retinue", ...all]);
      }),
    );
  });

  it("writes nothing before there are lines", () => {
    const written: string[] = [];
    const block = createBlock({ write: (text) => written.push(text), rows: () => 24 });
    block.clear();
    block.draw([]);
    expect(written).toEqual([]);
    block.print("text\n", []);
    expect(written).toEqual(["text\n"]);
  });
});
