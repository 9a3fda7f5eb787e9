import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolContext } from "../../ports/index.ts";
import type { Access } from "../../protocol/index.ts";
import {
  callTool,
  createToolPlace,
  type ToolPlace,
  textOfOutput,
  toolContext,
} from "../shared/tool-place.test-support.ts";
import { createReadTool } from "./read.ts";

let place: ToolPlace;
beforeEach(() => {
  place = createToolPlace();
});
afterEach(() => place.remove());

const read = async (input: Record<string, string | number>, context?: ToolContext) =>
  callTool(createReadTool(place), input, context);
const textOf = async (input: Record<string, string | number>) => textOfOutput(await read(input));
const whole = (name: string) => place.seen.of("main").knowsWhole(join(place.root, name));

describe("Read, given a text file,", () => {
  it("numbers lines and records which ones were shown", async () => {
    place.put("a.txt", "one\ntwo\n");
    const output = await read({ file_path: "a.txt" });
    expect(output).toEqual({ content: "1\tone\n2\ttwo\n", details: { path: "a.txt", lines: 2, first: 1, shown: 2 } });
    expect(whole("a.txt")).toBe(true);
    expect(await textOf({ file_path: join(place.root, "a.txt") })).toBe("1\tone\n2\ttwo\n");
  });

  it("shows the requested lines and how to continue, and all parts together are the whole file", async () => {
    place.put("a.txt", "1\n2\n3\n4\n5");
    expect(await textOf({ file_path: "a.txt", offset: 2, limit: 2 })).toBe(
      "2\t2\n3\t3\n[Lines 2-3 of 5. Continue with offset=4.]",
    );
    expect(await textOf({ file_path: "a.txt", offset: 4 })).toBe("4\t4\n5\t5\n[Lines 4-5 of 5.]");
    expect(whole("a.txt")).toBe(false);
    await read({ file_path: "a.txt", offset: 0, limit: 1 });
    expect(whole("a.txt")).toBe(true);
    const past = await read({ file_path: "a.txt", offset: 9 });
    expect(past).toMatchObject({
      isError: true,
      content: "a.txt has 5 lines; offset 9 is past its end. Use a smaller offset.",
    });
  });

  it("shows part of an unchanged long file again, and notices later changes", async () => {
    const lines = Array.from({ length: 9_000 }, (_, index) => `number ${index + 1}`);
    place.put("long.txt", lines.join("\n"));
    const first = await textOf({ file_path: "long.txt", offset: 3, limit: 2 });
    expect(first).toBe("3\tnumber 3\n4\tnumber 4\n[Lines 3-4 of 9000. Continue with offset=5.]");
    expect(await textOf({ file_path: "long.txt", offset: 3, limit: 2 })).toBe(first);
    expect(await textOf({ file_path: "long.txt", offset: 8_999 })).toBe(
      "8999\tnumber 8999\n9000\tnumber 9000\n[Lines 8999-9000 of 9000.]",
    );
    place.put("long.txt", ["new", ...lines].join("\n"));
    expect(await textOf({ file_path: "long.txt", offset: 3, limit: 1 })).toBe(
      "3\tnumber 2\n[Lines 3-3 of 9001. Continue with offset=4.]",
    );
  });

  it("ends a page at 2,000 lines or 28,000 characters", async () => {
    place.put("short.txt", "x\n".repeat(2500));
    expect(await textOf({ file_path: "short.txt" })).toMatch(
      /\n2000\tx\n\[Lines 1-2000 of 2500. Continue with offset=2001\.\]$/,
    );
    place.put("wide.txt", `${"y".repeat(999)}\n`.repeat(100));
    const text = await textOf({ file_path: "wide.txt" });
    expect(text.length).toBeLessThan(28_200);
    expect(text).toMatch(/\[Lines 1-27 of 100. Continue with offset=28\.\]$/);
    expect(whole("wide.txt")).toBe(false);
  });

  it("cuts long lines between characters", async () => {
    place.put("long.txt", `${"a".repeat(1999)}😀${"b".repeat(500)}\nend\n`);
    const text = await textOf({ file_path: "long.txt" });
    expect(text).toContain(`1\t${"a".repeat(1999)}…[+502 characters]\n2\tend\n[1 line shortened.`);
  });

  it("decodes UTF-8 and UTF-16 with a byte order mark, CRLF and other encodings", async () => {
    place.put("bom.txt", "\ufeffeins\r\nzwei\r\n");
    place.put("le.txt", Buffer.from("\ufeffgrün\n", "utf16le"));
    place.put("be.txt", Buffer.from("\ufeffgrün\n", "utf16le").swap16());
    place.put("latin.txt", Buffer.from("grün\n", "latin1"));
    expect(await textOf({ file_path: "bom.txt" })).toBe("1\teins\n2\tzwei\n");
    expect(await textOf({ file_path: "le.txt" })).toBe("1\tgrün\n");
    expect(await textOf({ file_path: "be.txt" })).toBe("1\tgrün\n");
    expect(await textOf({ file_path: "latin.txt" })).toBe("1\tgrün\n[Not valid UTF-8; shown as Latin-1.]");
  });

  it("reports that a file is empty", async () => {
    place.put("empty", "");
    expect(await textOf({ file_path: "empty" })).toBe("[The file is empty.]");
    expect(whole("empty")).toBe(true);
  });
});

describe("Read, given a large file,", () => {
  it("finds lines in limited memory, even in one endless line", async () => {
    const path = place.put("large.txt", "");
    const descriptor = openSync(path, "w");
    const block = Buffer.from("line of text number x\r\n".repeat(50_000));
    for (let round = 0; round < 10; round++) writeSync(descriptor, block);
    writeSync(descriptor, Buffer.from("last"));
    closeSync(descriptor);
    expect(await textOf({ file_path: "large.txt", offset: 400_000, limit: 2 })).toBe(
      "400000\tline of text number x\n400001\tline of text number x\n[Lines 400000-400001; more follow. Continue with offset=400002.]",
    );
    expect(await textOf({ file_path: "large.txt", offset: 500_001 })).toBe(
      "500001\tlast\n[Lines 500001-500001 of 500001.]",
    );
    expect(await textOf({ file_path: "large.txt", offset: 500_002 })).toBe(
      "large.txt has 500001 lines; offset 500002 is past its end. Use a smaller offset.",
    );
    expect(await textOf({ file_path: "large.txt", limit: 1_000_000 })).toContain("more follow");
    place.put("one-line.txt", Buffer.alloc(12_000_000, "z"));
    const one = await textOf({ file_path: "one-line.txt" });
    expect(one.startsWith(`1\t${"z".repeat(2000)}…`)).toBe(true);
    expect(one.length).toBeLessThan(2_200);
  });

  it("rejects large images and binaries without reading them", async () => {
    place.put("large.bin", Buffer.alloc(11_000_000));
    expect(await textOf({ file_path: "large.bin" })).toContain("binary data");
  });
});

describe("Read, given other content,", () => {
  it("detects images by content, not by name", async () => {
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(20)]);
    place.put("picture.txt", png);
    expect(await read({ file_path: "picture.txt" })).toEqual({
      content: [{ type: "image", mediaType: "image/png", data: png.toString("base64") }],
      details: { path: "picture.txt", mediaType: "image/png", bytes: 28 },
    });
    place.put("huge.png", Buffer.concat([png, Buffer.alloc(4_000_000)]));
    expect(await textOf({ file_path: "huge.png" })).toContain("at most 3.6 MB can be shown");
    place.put("a.webp", `RIFF\u0001\u0002\u0003\u0004WEBPVP8 `);
    expect(await textOf({ file_path: "a.webp" })).toBe("[image/webp]");
  });

  it("refuses binaries and says what they are", async () => {
    place.put("a.db", "SQLite format 3\0\0");
    place.put("a.bin", Buffer.from([1, 2, 0, 3]));
    expect(await textOf({ file_path: "a.db" })).toContain("an SQLite database (try `sqlite3` with Bash)");
    expect(await read({ file_path: "a.bin" })).toMatchObject({ isError: true });
  });

  it("renders notebooks with outputs and images", async () => {
    const cells = [
      { cell_type: "markdown", id: "m1", source: ["# Title\n", "text"] },
      {
        cell_type: "code",
        source: "plot()",
        outputs: [
          { output_type: "stream", text: ["\u001b[31mred\u001b[0m\n"] },
          { output_type: "display_data", data: { "image/png": "iVBORw0K\n", "text/plain": "<Figure>" } },
          { output_type: "error", ename: "ValueError", evalue: "bad", traceback: ["line 1"] },
        ],
      },
    ];
    place.put("n.ipynb", JSON.stringify({ cells, nbformat: 4 }));
    const output = await read({ file_path: "n.ipynb" });
    expect(textOfOutput(output)).toBe(
      '<cell id="m1" type="markdown">\n# Title\ntext\n</cell>\n\n<cell id="1" type="code">\nplot()\n<output>\nred\n</output>\n<output>\n[image/png: image 1 below]\n</output>\n<output>\nValueError: bad\nline 1\n</output>\n</cell>\n\n[image/png]',
    );
    place.put("broken.ipynb", "{");
    expect(await textOf({ file_path: "broken.ipynb" })).toBe("1\t{\n");
  });
});

describe("Read, given a path,", () => {
  it("suggests LS for directories and similar names for typos, and says which part of a path exists", async () => {
    place.put("src/index.ts", "x");
    place.put("src/secret.ts", "x");
    expect(await textOf({ file_path: "src" })).toBe("src is a directory. Use LS to list it.");
    expect(await textOf({ file_path: "src/indx.ts" })).toBe("src/indx.ts does not exist. Did you mean src/index.ts?");
    expect(await textOf({ file_path: "lib/deep/index.ts" })).toContain("exists only up to .");
    const hidden = toolContext({ hidden: (path) => path.endsWith("secret.ts") });
    expect(textOfOutput(await read({ file_path: "src/secrt.ts" }, hidden))).not.toContain("secret.ts");
    const deny: ToolContext["authorize"] = async () => ({ effect: "deny", rule: "r", scope: "user", reason: "no" });
    expect(textOfOutput(await read({ file_path: "src/indx.ts" }, toolContext({ authorize: deny })))).not.toContain(
      "index.ts",
    );
  });

  it("never blocks on pipes, and never reads devices", async () => {
    execFileSync("mkfifo", [join(place.root, "fifo")]);
    expect(await textOf({ file_path: "fifo" })).toContain("not a regular file");
    expect(await textOf({ file_path: "/dev/zero" })).toContain("not a regular file");
    expect(await textOf({ file_path: "a\0b" })).toContain("control characters");
    expect(await textOf({ file_path: "" })).toContain("empty");
  });

  it("asks for authorization again if a symlink leads elsewhere", async () => {
    const outside = mkdtempSync(join(tmpdir(), "outside-"));
    writeFileSync(join(outside, "f"), "secret");
    mkdirSync(join(place.root, "d"));
    symlinkSync(join(outside, "f"), join(place.root, "d", "link"));
    const asked: Access[] = [];
    const authorize: ToolContext["authorize"] = async (access) => {
      asked.push(access);
      return { effect: "ask", rule: "outside", scope: "builtin", reason: "outside the workspace" };
    };
    const output = await read({ file_path: "d/link" }, toolContext({ authorize }));
    expect(output.isError).toBe(true);
    expect(textOfOutput(output)).toContain("outside the workspace");
    expect(textOfOutput(output)).not.toContain("secret");
    expect(asked).toEqual([{ kind: "read", path: join(outside, "f") }]);
    rmSync(outside, { recursive: true });
  });

  it("forgets which files a released agent has seen", async () => {
    place.put("a", "x");
    const tool = createReadTool(place);
    await callTool(tool, { file_path: "a" });
    expect(whole("a")).toBe(true);
    await tool.release?.("main");
    expect(whole("a")).toBe(false);
  });
});
