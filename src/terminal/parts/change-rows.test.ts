import { describe, expect, it } from "vitest";
import { textOfRow } from "../screen/row.ts";
import { changeRows, fileChange } from "./change-rows.ts";

const call = (name: string, input: object) => ({ id: "call_1", name, inputJson: JSON.stringify(input) }) as never;

describe("the change that a call would make", () => {
  it("is shown in full as a diff with line numbers, with misleading characters made visible", () => {
    const change = fileChange(call("Edit", { file_path: "a.ts", old_string: "two", new_string: "zwei\u202e" }));
    const diff = `@@ -9,3 +9,3 @@\n one\n-  two\n+zwei\u202e${"x".repeat(30)}\n three\n`;
    expect(change && changeRows(change, diff, 30).map(textOfRow)).toEqual([
      "  │  9   one",
      "  │ 10 −   two",
      "  │ 10 + zwei\\u{202e}xxxxxxxx",
      "  │      xxxxxxxxxxxxxxxxxxxx",
      "  │      xx",
      "  │ 11   three",
    ]);
  });

  it("is shown as the old and the new text if the file is unknown", () => {
    const change = fileChange(call("Edit", { file_path: "a.ts", old_string: "two", new_string: "zwei\ndrei" }));
    expect(change && changeRows(change, undefined, 30).map(textOfRow)).toEqual([
      "  │ − two",
      "  │ + zwei",
      "  │ + drei",
    ]);
    expect(fileChange(call("Bash", { command: "ls" }))).toBeUndefined();
  });
});
