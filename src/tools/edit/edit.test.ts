import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createReadTool } from "../read/read.ts";
import {
  callTool,
  createToolPlace,
  type ToolPlace,
  textOfOutput,
  toolContext,
} from "../shared/tool-place.test-support.ts";
import { createEditTool } from "./edit.ts";

let place: ToolPlace;
beforeEach(() => {
  place = createToolPlace();
});
afterEach(() => place.remove());

const edit = (file_path: string, change: readonly [string, string, boolean?], context = toolContext()) => {
  const [old_string, new_string, replace_all = false] = change;
  return callTool(createEditTool(place), { file_path, old_string, new_string, replace_all }, context);
};
const read = (file_path: string) => callTool(createReadTool(place), { file_path });
const messageOf = async (name: string, content: string, oldString: string) => {
  place.put(name, content);
  await read(name);
  const output = await edit(name, [oldString, "new"]);
  expect(output.isError).toBe(true);
  expect(place.get(name)).toBe(content);
  return textOfOutput(output);
};

describe("Edit", () => {
  it("changes one occurrence and shows it", async () => {
    place.put("a.ts", "1\n2\n3\n4\n5\n6\n7\n");
    await read("a.ts");
    const output = await edit("a.ts", ["4\n5", "four\nfive\nsix"]);
    expect(output).toEqual({
      content: "Edited a.ts:\n2\t2\n3\t3\n4\tfour\n5\tfive\n6\tsix\n7\t6\n8\t7",
      details: {
        path: "a.ts",
        added: 3,
        removed: 2,
        diff: "@@ -1,7 +1,8 @@\n 1\n 2\n 3\n-4\n-5\n+four\n+five\n+six\n 6\n 7\n",
      },
      facts: {
        filesChanged: ["a.ts"],
        image: {
          path: join(place.root, "a.ts"),
          before: "retinue://result/image_c1",
          after: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
    });
    expect(place.get("a.ts")).toBe("1\n2\n3\nfour\nfive\nsix\n6\n7\n");
    expect((await edit("a.ts", ["four", "4"])).isError).toBeUndefined();
  });

  it("replaces all matches if requested, and otherwise says where they are", async () => {
    place.put("a", "x\ny\nx\n");
    await read("a");
    expect(textOfOutput(await edit("a", ["x", "z"]))).toBe(
      "old_string occurs 2 times in a, on lines 1, 3. Include surrounding lines to make it unique, or set replace_all.",
    );
    expect(textOfOutput(await edit("a", ["x", "z", true]))).toBe("Edited a in 2 places. The first:\n1\tz\n2\ty\n3\tz");
    expect(place.get("a")).toBe("z\ny\nz\n");
  });

  it("keeps encoding, byte order mark, CRLF and unknown bytes", async () => {
    place.put("bom.txt", "\ufeffa\r\nb\r\nc\r\n");
    const latin = Buffer.from("caf\u00e9 \u0093x\u0094\n", "latin1");
    place.put("latin.txt", latin);
    await read("bom.txt");
    await read("latin.txt");
    await edit("bom.txt", ["a\nb", "1\n2"]);
    expect(place.get("bom.txt")).toBe("\ufeff1\r\n2\r\nc\r\n");
    await edit("latin.txt", ["caf", "Caf"]);
    expect(readFileSync(join(place.root, "latin.txt"))).toEqual(Buffer.from("Caf\u00e9 \u0093x\u0094\n", "latin1"));
    expect(textOfOutput(await edit("latin.txt", ["x", "→"]))).toContain("is not UTF-8");
  });

  it("refuses empty or identical text, and files that are unread, missing, changed or not text", async () => {
    place.put("a.txt", "text");
    expect(textOfOutput(await edit("a.txt", ["", "x"]))).toContain("old_string is empty");
    expect(textOfOutput(await edit("a.txt", ["x", "x"]))).toContain("identical");
    expect(textOfOutput(await edit("a.txt", ["text", "x"]))).toContain("not read a.txt yet");
    expect(textOfOutput(await edit("b.txt", ["text", "x"]))).toContain("Did you mean a.txt?");
    expect(textOfOutput(await edit(".", ["text", "x"]))).toContain("is a directory");
    await read("a.txt");
    place.put("a.txt", "text, longer now");
    expect(textOfOutput(await edit("a.txt", ["text", "x"]))).toContain("changed since you read it. Read it again");
    expect(place.get("a.txt")).toBe("text, longer now");
  });

  it("never loses another agent's change", async () => {
    place.put("a", "one two");
    const other = toolContext({ agentId: "other" });
    await read("a");
    await callTool(createReadTool(place), { file_path: "a" }, other);
    await edit("a", ["one", "1"]);
    expect((await edit("a", ["two", "2"], other)).isError).toBe(true);
    expect(place.get("a")).toBe("1 two");
  });
});

describe("Edit, when it can't find the text,", () => {
  const source = "function a() {\n\tif (x) {\n\t\treturn 1;\n\t}\n}\n";
  it("mentions indentation", async () => {
    const message = await messageOf("a.ts", source, "  if (x) {\n    return 1;\n  }");
    expect(message).toBe(
      "old_string was not found in a.ts. A match with different indentation is at line 2. Copy the text exactly:\n2\t\tif (x) {\n3\t\t\treturn 1;\n4\t\t}",
    );
  });
  it("mentions whitespace, quotes and case", async () => {
    expect(await messageOf("a", "x = 1  \ny\n", "x = 1\ny")).toContain("different trailing spaces is at line 1");
    expect(await messageOf("b", "x=1\n", "x = 1")).toContain("different whitespace is at line 1");
    expect(await messageOf("c", "say “hi” – now\n", 'say "hi" - now')).toContain("different quotes, dashes or spaces");
    expect(await messageOf("d", "\nHello World\n", "hello world")).toContain("capitalization is at line 2");
  });
  it("mentions line numbers", async () => {
    expect(await messageOf("a.ts", source, "2\t\tif (x) {\n3\t\t\treturn 1;")).toContain(
      "contains the line numbers that Read shows",
    );
  });
  it("shows the closest match", async () => {
    expect(await messageOf("a.ts", source, "\tif (x) {\n\t\treturn 2;\n\t}")).toBe(
      "old_string was not found in a.ts. The closest match first differs at line 3:\n2\t\tif (x) {\n3\t\t\treturn 1;\n4\t\t}",
    );
    expect(await messageOf("b.ts", source, "nothing like this")).toContain("Nothing similar was found");
    expect(await messageOf("c.ts", source, "  \n ")).toContain("contains only whitespace");
  });
  it("takes only a moment for text that almost matches everywhere", async () => {
    const lines = "the same line\n".repeat(60_000);
    const message = await messageOf("a", lines, `${"the same line\n".repeat(30_000)}another\nthe same line`);
    expect(message).toContain("The closest match first differs at line");
    expect(await messageOf("b", lines.repeat(3), "another")).toContain("Nothing similar was found");
  });
});
