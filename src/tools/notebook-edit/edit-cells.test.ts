import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editCells, elementSpans } from "./edit-cells.ts";

const cell = fc.record({
  cell_type: fc.constantFrom("code", "markdown"),
  metadata: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
  source: fc.array(fc.string()),
});
const notebook = fc.record({ metadata: fc.jsonValue(), cells: fc.array(cell), nbformat: fc.constant(4) });
const indent = fc.constantFrom(undefined, 1, 2, "\t");

describe("elementSpans", () => {
  it("finds every element in any JSON", () => {
    const values = fc.array(fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), values, indent, (around, cells, space) => {
        const text = JSON.stringify({ ...around, cells, last: [1, "]"] }, null, space);
        const found = elementSpans(text, "cells");
        expect(found?.elements.map(({ start, end }) => JSON.parse(text.slice(start, end)))).toEqual(
          JSON.parse(JSON.stringify(cells)),
        );
      }),
      { numRuns: 60 },
    );
  });

  it("finds nothing if there is no list", () => {
    expect(elementSpans('{"cells": {}}', "cells")).toBeUndefined();
    expect(elementSpans("{}", "cells")).toBeUndefined();
    expect(elementSpans("[1]", "cells")).toBeUndefined();
  });
});

describe("editCells", () => {
  it("changes the parsed notebook as requested, without changing a byte of other cells", () => {
    const modes = fc.constantFrom("replace" as const, "insert" as const, "delete" as const);
    fc.assert(
      fc.property(notebook, indent, modes, fc.nat(5), (value, space, mode, index) => {
        const text = JSON.stringify(value, null, space);
        const before = JSON.parse(text).cells;
        const at = before.length === 0 ? undefined : index % before.length;
        if (at === undefined && mode !== "insert") return;
        const edit = { mode, cell: at === undefined ? undefined : String(at), source: "a\nb", type: undefined };
        const edited = editCells(text, edit, () => "new");
        if (!edited.ok) throw new Error(edited.message);
        const after = JSON.parse(edited.text);
        expect({ ...after, cells: [] }).toEqual({ ...JSON.parse(text), cells: [] });
        const kept = after.cells.filter((_: unknown, each: number) => {
          return mode === "delete" || each !== (mode === "replace" ? at : (at ?? -1) + 1);
        });
        expect(kept).toEqual(before.filter((_: unknown, each: number) => mode === "insert" || each !== at));
        if (space !== undefined) expect(edited.text).toBe(JSON.stringify(after, null, space));
      }),
    );
  });

  it("keeps number formats and line endings outside the cell", () => {
    const text =
      '{\r\n "x": 1.0,\r\n "cells": [\r\n  {\r\n   "cell_type": "raw",\r\n   "source": "a"\r\n  }\r\n ]\r\n}\r\n';
    const edited = editCells(text, { mode: "replace", cell: "0", source: "b", type: undefined }, () => "");
    expect(edited).toMatchObject({ ok: true, text: text.replace('"a"', '"b"') });
  });
});
