import { describe, expect, it } from "vitest";
import { textOfRow } from "./row.ts";
import { cutPath, cutRow, widthOf } from "./text.ts";

describe("a path that is too long", () => {
  const path = "src/shop/checkout/cart/price.ts";

  it("is shortened in the middle and keeps the file name", () => {
    expect(cutPath(path, 31)).toBe(path);
    expect(cutPath(path, 30)).toBe("src/shop/checkout/…/price.ts");
    expect(cutPath(path, 20)).toBe("src/shop/…/price.ts");
    expect(cutPath(path, 13)).toBe("src…/price.ts");
    expect(cutPath(path, 10)).toBe("…/price.ts");
    expect(cutPath(path, 7)).toBe("price.…");
    expect(cutPath(`editing ${path}`, 30)).toBe("editing src/shop/…/price.ts");
    expect(cutPath(`editing ${path}`, 20)).toBe("editing sr…/price.ts");
  });

  it("fits into any number of columns", () => {
    const wide = "値段/計算/とても長い名前の値段.ts";
    for (const text of [path, wide, "no-directory.ts", "a/"])
      for (let columns = 1; columns < 40; columns += 1)
        expect(widthOf(cutPath(text, columns))).toBeLessThanOrEqual(columns);
  });

  it("is shortened at the end of a row", () => {
    const row = [{ text: "● " }, { text: path, isPath: true }];
    expect(textOfRow(cutRow(row, 22))).toBe("● src/shop/…/price.ts");
  });
});
